"""The command line as users have it: a process, a working folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import millstream
from tests.piped import Piped

Start = Callable[..., Piped]
Cli = Callable[..., subprocess.CompletedProcess[str]]


def environment(folder: Path) -> dict[str, str]:
    """This checkout's `millstream`, without the user's own settings, and nothing left behind."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MILLSTREAM_")}
    return {
        **kept,
        "PYTHONPATH": str(Path(millstream.__file__).parent.parent),
        "TMPDIR": str(folder),
        "COLUMNS": "80",
    }


@pytest.fixture
def started(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts `millstream …` in the test's own folder; it is gone when the test ends."""
    processes: list[Piped] = []

    def start(*arguments: str) -> Piped:
        process = Piped(
            [sys.executable, "-c", "from millstream.cli.main import main; main()", *arguments],
            cwd=tmp_path,
            env=environment(tmp_path_factory.mktemp("tmp")),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Tests may run in the background, where shells ignore Ctrl-C; what they start must not.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def cli(started: Start) -> Cli:
    """Runs `millstream …` to its end."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        process = started(*arguments)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    return run
