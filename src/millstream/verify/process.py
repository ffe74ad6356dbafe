"""The process that runs the job, as seen from the one that kills it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millstream.errors import MillstreamError

LOG = "log.txt"
PATIENCE = 600
"""Seconds after which a run hangs."""


@dataclass(frozen=True)
class Ran:
    """How a run came to its end: by an error, by being killed, or well."""

    error: str | None = None
    killed: bool = False
    late: int = 0


class Worker:
    """Started when it is first asked, and again when it was killed; with its JVM in its own process group."""

    def __init__(self, file: Path, folder: Path, environment: dict[str, str], storage: str | None = None) -> None:
        """`storage`: where runs may write, if not into the folder."""
        self.log = folder / LOG
        more = [storage] if storage else []
        self._command = [sys.executable, "-m", "millstream.verify.worker", str(file), str(folder), *more]
        self._environment = {**os.environ, **environment, "MILLSTREAM_VERBOSE": "1"}
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False

    @property
    def group(self) -> int:
        assert self._process is not None
        return self._process.pid

    def run(
        self,
        place: str,
        mode: str,
        rows_per_epoch: dict[str, int] | None = None,
        elsewhere: str | None = None,
        moved: str | None = None,
    ) -> Ran:
        """`moved`: how the job is moved to another checkpoint in the middle of its input."""
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        told: dict[str, Any] = {"place": place, "mode": mode, "moved": moved}
        told |= {"rows_per_epoch": rows_per_epoch, "elsewhere": elsewhere}
        try:
            self._process.stdin.write(json.dumps(told).encode() + b"\n")
            self._process.stdin.flush()
            answer = self._answer()
        except BrokenPipeError:
            answer = b""
        if not answer:
            return self._ended()
        found: dict[str, Any] = json.loads(answer)
        return Ran(found.get("error"), late=found.get("late", 0))

    def _answer(self) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        if not ready:
            self.kill()
            raise MillstreamError(
                "MS-VERIFY-001", f"the job has not come to an end for {PATIENCE} s.", hint=f"its log is {self.log}"
            )
        return self._process.stdout.readline()

    def _ended(self) -> Ran:
        """It is gone: we killed it, or it ended by itself."""
        assert self._process is not None
        self._process.wait()
        self._process = None
        if self._killed:
            self._killed = False
            return Ran(killed=True)
        said = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        raise MillstreamError(
            "MS-VERIFY-001",
            "the job's process ended by itself.",
            found=said[-1] if said else None,
            hint=f"see {self.log}",
        )

    def _start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Like a power cut: neither it nor anything that it started does anything any more."""
        if self._process is not None:
            self._killed = True
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        if self._process is not None:
            self.kill()
            self._process.wait()
            self._process = None
