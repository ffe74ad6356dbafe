"""A job that is moved to another checkpoint in the middle of its input: by a savepoint, or to another parallelism.

<run>/checkpoint   where it processes the first portion of its input
<run>/savepoint    which is saved then
<run>/restored     where it processes the rest; a rescale chooses its own place

The run after a killed one does what its user would do: it looks how far the killed one came, and continues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.plan.cluster import Cluster
from millstream.plan.modes import Mode, RealTime
from millstream.plan.restarts import no_restart
from millstream.planner.stages import JobPlan
from millstream.storage import CheckpointFolder, files_at
from millstream.verify.portions import PORTIONS, Portions
from millstream.verify.sandbox import CHECKPOINT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.api.job import Job
    from millstream.runtime.run import Run

BEFORE = 1
"""How many portions are processed before it is moved."""
RESTORED, SAVEPOINT = "restored", "savepoint"


@dataclass(frozen=True)
class Moving:
    """A run of a job between sources and sinks in a folder. `root`: where its checkpoints lie."""

    job: Job
    plan: JobPlan
    mode: Mode
    root: str
    spark: SparkSession
    portions: Portions | None

    @property
    def first(self) -> str:
        return f"{self.root}/{CHECKPOINT}"

    def work_off(self, checkpoint: str, parallelism: int, portions: int = PORTIONS) -> Run:
        """All input, or the first portions of it."""
        from millstream.runtime.requests import followed
        from millstream.runtime.run import Run
        from millstream.runtime.setting import Setting

        checkpoint = followed(checkpoint)
        if self.portions is not None and not isinstance(self.mode, RealTime):
            self.portions.give(portions)
        setting = Setting(self.mode, checkpoint, parallelism, self.spark)
        run = Run.begin(self.job.name, self.plan, setting, no_restart())
        if self.portions is not None and isinstance(self.mode, RealTime):
            self.portions.work_off(run, checkpoint, portions)
        run.wait()
        return run

    def session(self, parallelism: int) -> SparkSession:
        from millstream.runtime.savepoints.of_job import session_for

        return session_for(self.plan, (self.first,), parallelism, Cluster(), self.spark)


def by_savepoint(moving: Moving) -> Run:
    from millstream.runtime.checkpoint import whole
    from millstream.runtime.savepoints.manifest import MANIFEST
    from millstream.runtime.savepoints.matching import Choices
    from millstream.runtime.savepoints.restoring import Wanted, restore

    job, saved, to = moving.job, f"{moving.root}/{SAVEPOINT}", f"{moving.root}/{RESTORED}"
    files, folder = files_at(saved), CheckpointFolder.at(to)
    if files.read(folder.about) is None or not whole(folder):
        if files.read(f"{saved}/{MANIFEST}") is None:
            files.delete_all(saved)
            moving.work_off(moving.first, job.parallelism, BEFORE).savepoint(saved)
        wanted = Wanted(job.name, moving.plan, to, job.parallelism)
        restore(wanted, saved, Choices(), moving.session(job.parallelism))
    return moving.work_off(to, job.parallelism)


def by_rescale(moving: Moving) -> Run:
    from millstream.runtime.requests import followed
    from millstream.runtime.savepoints.rescaling import rescaled

    job, parallelism = moving.job, moving.job.parallelism + 1
    if followed(moving.first) == moving.first:
        moving.work_off(moving.first, job.parallelism, BEFORE)
        rescaled(job.name, moving.plan, moving.first, parallelism, moving.session(parallelism))
    return moving.work_off(moving.first, parallelism)


MOVES: dict[str, Callable[[Moving], Run]] = {"savepoint": by_savepoint, "rescale": by_rescale}


def gone_on(root: str, moved: str) -> str:
    """The checkpoint in which a job that was moved has ended."""
    from millstream.runtime.requests import followed

    return f"{root}/{RESTORED}" if moved == "savepoint" else followed(f"{root}/{CHECKPOINT}")
