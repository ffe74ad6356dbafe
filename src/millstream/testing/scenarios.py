"""Cases of the oracle that go through a savepoint on their way: at another parallelism, or in a changed job.

Epochs keep their numbers, so each checkpoint of a case is compared by itself: what the sinks hold after its epochs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.api.job import Job
from millstream.api.relation import Stream
from millstream.plan.modes import available_now, real_time
from millstream.plan.node import walk
from millstream.plan.nodes import Source
from millstream.runtime.savepoints.taking import take
from millstream.testing.epochs import committed
from millstream.testing.oracle import EPOCH, PORTIONS, Report, caught_up, compare, refuse_unread, telling, wait_for
from millstream.testing.trial import Case, Limits, Topics, Trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADDED = "counted_from_now_on"
"""The step that a changed job has and the saved one had not."""


@dataclass
class MovingTrial(Trial):
    """A case whose job continues in one checkpoint after the other. `changed`: whether it has one more step."""

    at: str = field(init=False, default="checkpoint")
    parallelism: int = field(init=False, default=2)
    changed: bool = field(init=False, default=False)

    @property
    def checkpoint(self) -> Path:
        return self.folder / self.at

    def job(self, limits: Limits | None = None) -> Job:
        job = super().job(limits)
        job.parallelism = self.parallelism
        return job

    def running(self, limits: Limits | None = None) -> Job:
        """The job as it runs; it is judged by the one without the added step."""
        job = self.job(limits)
        if self.changed:
            add_step(job, Topics(self.journal, limits or dict.fromkeys(self.case.inputs)))
        return job


def streams(job: Job) -> list[Source]:
    """As the user made them: a plan's own are cut down to what is read of them."""
    return [node for node in walk(job._sinks) if isinstance(node, Source) and node.append_only and not node.static]


def add_step(job: Job, topics: Topics) -> None:
    """A step before all others of its stage, which changes their tags and slots."""
    source = streams(job)[0]
    rows = Stream(job, source)
    counted = rows.group_by(source.schema[0].name).agg(added="count(*)").named(ADDED)
    counted.to(topics.sink("added", changelog=True))


def check_moved(
    case: Case, folder: Path, spark: SparkSession, parallelism: int, *, changed: bool = False
) -> Report | None:
    """Runs a case in micro-batches, with a savepoint in between; None: no step can be added to its job."""
    trial = MovingTrial(case, folder)
    if changed and not streams(trial.job()):
        return None
    epochs, records = 0, dict[str, int]()
    for number, limits in enumerate(trial.feed(), 1):
        run = trial.running(limits).start(available_now(), spark=spark)
        run.wait()
        refuse_unread(trial)
        report = compare(trial, trial.job(), committed(trial.checkpoint), spark, optimised=False)
        epochs, records = epochs + report.epochs, report.records
        if number < trial.runs:
            move(trial, spark, parallelism, f"checkpoint{number}", changed)
    return Report(epochs, records)


def move(trial: MovingTrial, spark: SparkSession, parallelism: int, to: str, changed: bool) -> None:
    """Saves the job's state, and restores it into another checkpoint."""
    saved = take(spark, str(trial.checkpoint), str(trial.folder / f"{to}-saved"))
    trial.at, trial.parallelism, trial.changed = to, parallelism, changed
    trial.running().restore(saved.path, spark=spark)


def check_rescaled_in_real_time(
    case: Case, folder: Path, spark: SparkSession, steps: tuple[int, ...], seconds: float = 120
) -> Report:
    """Runs a case in real time. Between two portions of its input its parallelism is changed, while it runs."""
    trial = MovingTrial(case, folder)
    fed = trial.feed(max(PORTIONS, len(steps) + 1))
    next(fed)
    run = trial.job().start(real_time(EPOCH), spark=spark)
    epochs, records = 0, dict[str, int]()
    try:
        for parallelism in (*steps, None):
            wait_for(run, lambda: caught_up(trial), seconds)
            refuse_unread(trial)
            if parallelism is not None:
                # It is moved while rows flow: those that come now are read behind the move.
                next(fed)
                done = run.rescale(parallelism)
                report = compare(trial, trial.job(), telling(committed(trial.checkpoint)), spark, optimised=False)
                trial.at, trial.parallelism = Path(done.checkpoint).name, parallelism
                epochs += report.epochs
    finally:
        run.stop()
    report = compare(trial, trial.job(), telling(committed(trial.checkpoint)), spark, optimised=False)
    records = report.records
    return Report(epochs + report.epochs, records)
