"""Kinesis, by kinesalite. `python -m servers.kinesis` starts one and says where it listens."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

from millstream.spark.fetch import cache
from servers.aws import AwsServer
from servers.process import in_own_folder, serve_until_stopped

VERSION = "3.3.3"
RESETS = Path(__file__).with_suffix(".js")
"""Handles what would end the server."""
QUICK = ("--createStreamMs", "20", "--deleteStreamMs", "20", "--updateStreamMs", "20", "--shardLimit", "100")


class Kinesis(AwsServer):
    service: ClassVar[str] = "kinesis"
    region: ClassVar[str] = "us-east-1"
    question: ClassVar[str] = "list_streams"

    def _command(self) -> list[str]:
        program = ["node", "--require", str(RESETS), str(installed())]
        return [*program, "--port", str(self.port), "--path", str(self.folder / "data"), *QUICK]


def installed() -> Path:
    """The server's program, fetched once by npm into a folder of the cache."""
    folder = cache().parent / f"kinesalite-{VERSION}"
    program = folder / "node_modules" / "kinesalite" / "cli.js"
    if not program.exists():
        if shutil.which("npm") is None:
            raise RuntimeError("these tests need Node.js: install nodejs and npm")
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=folder.parent))
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", f"kinesalite@{VERSION}"], cwd=part, check=True)
        try:
            part.rename(folder)
        except OSError:  # another was quicker
            shutil.rmtree(part)
    return program


def running() -> AbstractContextManager[Kinesis]:
    """A server in its own folder, deleted afterwards."""
    return in_own_folder("kinesis", Kinesis)


if __name__ == "__main__":
    serve_until_stopped(running(), lambda server: server.endpoint)
