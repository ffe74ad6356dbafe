"""A job that starts with history: its first epochs read the history instead of the sources, then come the sources.

    history ─▶ a separate checkpoint ─▶ all is read ─▶ savepoint ─▶ the job's checkpoint ─▶ the sources
               <checkpoint>-history                    <checkpoint>-history.savepoint

Over history the job has the same steps and sinks, and so the same state: it is restored into the job over its sources.
A job that is killed on the way continues from what it finds; nothing is written twice, as in any restore.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from millstream.errors import MillstreamError
from millstream.plan.modes import Batch, available_now
from millstream.plan.restarts import Restarts
from millstream.planner.dataflow import Dataflow
from millstream.planner.history import sources_with_history
from millstream.planner.stages import JobPlan, plan_job
from millstream.runtime import faults
from millstream.runtime.checkpoint import whole
from millstream.runtime.requests import followed
from millstream.runtime.run import Run
from millstream.runtime.savepoints.matching import Choices
from millstream.runtime.savepoints.of_job import session_for
from millstream.runtime.savepoints.restoring import Wanted, restore
from millstream.runtime.setting import Setting
from millstream.runtime.states import State
from millstream.runtime.watching import Watching, begin
from millstream.storage import CheckpointFolder

LOG = logging.getLogger("millstream")


@dataclass(frozen=True)
class Places:
    """The job's checkpoint, and what is beside it while history is read."""

    job: CheckpointFolder

    @property
    def history(self) -> CheckpointFolder:
        return CheckpointFolder(f"{self.job.root}-history")

    @property
    def savepoint(self) -> str:
        return f"{self.job.root}-history.savepoint"

    @property
    def begun(self) -> bool:
        """Whether the job continues from its own checkpoint."""
        return self.job.files.read(self.job.about) is not None and whole(self.job)

    @property
    def half_read(self) -> bool:
        return not self.begun and self.history.files.read(self.history.about) is not None

    def clean(self) -> None:
        for place in (self.savepoint, self.history.root):
            self.job.files.delete_all(place)


def begin_job(
    job: str, plan: JobPlan, past: Dataflow | None, setting: Setting, restarts: Restarts, watching: Watching
) -> Run:
    """`past`: the job over its history, if it starts with that. Returns the run over the sources; or, if it was stopped
    before that, the one over history."""
    names = sources_with_history(plan.flow)
    if past is None and not names:
        return begin(job, plan, setting, restarts, watching)
    places = Places(CheckpointFolder.at(followed(setting.checkpoint)))
    if past is None:
        refuse_half_read(job, places)
    else:
        refuse_nothing_to_read(job, names, setting)
        stopped = read_history(job, plan, plan_job(past), setting, restarts, watching, places)
        if stopped is not None:
            return stopped
    return begin(job, plan, setting, restarts, watching)


def refuse_half_read(job: str, places: Places) -> None:
    if places.half_read:
        raise MillstreamError(
            "MS-RUN-016",
            f'job "{job}" has begun to read its history, and did not come to the end.',
            found=f"there is the checkpoint {places.history.root}",
            hint="go on with backfill=True, or millstream run --backfill; without history, delete that folder",
        )


def refuse_nothing_to_read(job: str, names: frozenset[str], setting: Setting) -> None:
    if isinstance(setting.mode, Batch):
        raise MillstreamError(
            "MS-RUN-016",
            f'job "{job}" is to go on after its history, and a batch ends.',
            hint="name another mode: micro-batch, available-now or real-time",
        )
    if not names:
        raise MillstreamError(
            "MS-RUN-016",
            f'job "{job}" is to begin with history, and no source has one.',
            hint='job.stream(source, …, history=files.source("archive", format="parquet"))',
        )


def read_history(
    job: str, plan: JobPlan, past: JobPlan, setting: Setting, restarts: Restarts, watching: Watching, places: Places
) -> Run | None:
    """None: all of it is in the job's checkpoint. Otherwise the run that was stopped before its end."""
    if places.begun:
        LOG.warning('job "%s" has a checkpoint already: it goes on from there, and reads no history', job)
        places.clean()
        return None
    # Once it is retired, the savepoint is whole, and only the end of the restore is missing.
    if places.history.files.read(places.history.retired) is None:
        reading = replace(setting, mode=available_now(), checkpoint=places.history.root)
        run = begin(job, past, reading, restarts, watching)
        run.wait()
        if run.state is not State.FINISHED:
            return run
        places.job.files.delete_all(places.savepoint)
        run.savepoint(places.savepoint)
        faults.at("backfill.saved", 0, "")
    go_on(job, plan, setting, places)
    return None


def go_on(job: str, plan: JobPlan, setting: Setting, places: Places) -> None:
    """The state that the history leaves, for the job over its sources, which begin where their options say."""
    choices = Choices(new_sources=sources_with_history(plan.flow))
    spark = session_for(plan, (places.job.root,), setting.parallelism, setting.on, setting.spark)
    wanted = Wanted(job, plan, places.job.root, setting.parallelism)
    done = restore(wanted, places.savepoint, choices, spark)
    faults.at("backfill.restored", done.epoch, "")
    places.clean()
    LOG.info('job "%s" has read its history, and goes on after epoch %s', job, done.epoch)
