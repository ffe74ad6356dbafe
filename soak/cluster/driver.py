"""The driver's process, which can be moved to another machine: to an empty folder."""

from __future__ import annotations

import shutil
from pathlib import Path

from soak.cluster.job import Places
from soak.process import JobProcess


class Driver(JobProcess):
    """It knows only where its servers are. Its output stays in one log."""

    def __init__(self, folder: Path, places: Places) -> None:
        self._machines = folder
        self._places = places
        self._moves = 0
        super().__init__("soak.cluster.job", self._new_machine(), folder / "job.log")

    def _new_machine(self) -> Path:
        self._moves += 1
        made = self._machines / f"driver{self._moves}"
        made.mkdir()
        self._places.save(made)
        return made

    def move(self) -> None:
        """Kills it, deletes its machine's folder, and starts it on another one."""
        self.kill()
        shutil.rmtree(self._folder)
        self._folder = self._new_machine()
        self.start()
