"""The job's process: started, killed, and waited for."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

AGAIN = re.compile(r'job "soak" failed and is started again in [\d.]+ s: (.*)')
ROOT = Path(__file__).parents[1]
PATIENCE = 240
"""Seconds after which a job will not come up any more."""


class JobProcess:
    """A module's job, which finds its places in the folder. With its JVM it is its own process group."""

    def __init__(self, module: str, folder: Path, log: Path | None = None) -> None:
        self._module = module
        self._folder = folder
        self.log = log or folder / "job.log"
        self.given_up = 0
        """How often it ended for good, despite its policy, and was started by hand."""
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._module, str(self._folder)],
                cwd=self._folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), "MILLSTREAM_LOG": str(self._folder / "spark.log")},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # it ended by itself
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def until(self, reached: Callable[[], bool], after: str) -> float:
        """Waits until the job has reached this; how many seconds it took."""
        begun = time.monotonic()
        while not reached():
            if self._process.poll() is not None:
                print(f"the job ended after: {after}\n{self.said()[-3000:]}", file=sys.stderr)
                self.given_up += 1
                self.start()
            if time.monotonic() - begun > PATIENCE:
                raise RuntimeError(f"the job does not go on after: {after}\n{self.said()[-3000:]}")
            time.sleep(0.05)
        return time.monotonic() - begun

    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def failures(self) -> list[str]:
        """The reasons for which it was started again by its policy, so far."""
        return AGAIN.findall(self.said())
