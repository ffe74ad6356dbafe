"""The job's process: started, killed, and asked how far it is."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from millstream.storage import CheckpointFolder
from soak.job import Places

AGAIN = re.compile(r'job "soak" failed and is started again in [\d.]+ s: (.*)')
PATIENCE = 240
"""Seconds after which a job will not come any more."""


class JobProcess:
    """With its JVM in a process group of its own."""

    def __init__(self, folder: Path, places: Places) -> None:
        self._folder = folder
        self._checkpoint = CheckpointFolder.at(places.checkpoint)
        self.log = folder / "job.log"
        self.given_up = 0
        """How often it ended for good, against its policy, and was started by hand."""
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "soak.job", str(self._folder)],
                env={**os.environ, "MILLSTREAM_LOG": str(self._folder / "spark.log")},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # it ended by itself
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def epoch(self) -> int:
        """The last committed one, or -1."""
        return max(self._checkpoint.committed(), default=-1)

    def until_epoch(self, epoch: int, after: str) -> float:
        """Waits until an epoch is committed; how many seconds it took."""
        begun = time.monotonic()
        while self.epoch() < epoch:
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
