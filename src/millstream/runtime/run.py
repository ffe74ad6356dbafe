"""A run of a job: from the plan to a running query, and to its end."""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from millstream.errors import MillstreamError
from millstream.plan.connectors import Jars, NeedsJars
from millstream.plan.modes import Batch, Mode, RealTime
from millstream.plan.node import Stateful, walk
from millstream.plan.python import Call, Process
from millstream.plan.restarts import Restarts
from millstream.planner.stages import JobPlan
from millstream.runtime.carry import Carriage, Load, load, stage, staged
from millstream.runtime.checkpoint import fingerprint, open_checkpoint
from millstream.runtime.failures import explained, transient
from millstream.runtime.identities import check_identities, refuse_made_anew
from millstream.runtime.interrupts import interrupts
from millstream.runtime.progress import Progress
from millstream.runtime.read_files import refuse_changed
from millstream.runtime.real_time import refuse_long_epochs, refuse_slow_sources
from millstream.runtime.receive import Reception
from millstream.runtime.states import Life, State
from millstream.spark import query as queries
from millstream.spark import session
from millstream.spark.lower.job import Lowered, lower_batch, lower_streaming
from millstream.spark.lower.wrong_step import naming_steps

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LOG = logging.getLogger("millstream")


@dataclass(frozen=True)
class Setting:
    """How and where a job runs."""

    mode: Mode
    checkpoint: str
    parallelism: int
    spark: SparkSession | None


@dataclass(frozen=True)
class Failure:
    """A failure after which the job was started again. `at`: in seconds, by a clock of no date."""

    at: float
    error: MillstreamError
    delay_ms: int


class Run:
    """A started job: wait for it, watch it, stop it."""

    def __init__(self, job: str, plan: JobPlan, setting: Setting, restarts: Restarts) -> None:
        self.job = job
        self._plan = plan
        self._setting = setting
        self._restarts = restarts
        self._life = Life()
        self._query: queries.Query | None = None
        self._carriage: Carriage | None = None
        self._reception: Reception | None = None
        self._again_at = 0.0
        self.failures: list[Failure] = []
        """Those from which it was, or is about to be, started again."""

    @property
    def state(self) -> State:
        return self._life.state

    @classmethod
    def begin(cls, job: str, plan: JobPlan, setting: Setting, restarts: Restarts) -> Run:
        run = cls(job, plan, setting, restarts)
        try:
            run._begin()
        except Exception as error:
            run._life.fail()
            run._abandon(error)
            found = explained(job, error, plan)
            raise found from (error if found is not error else error.__cause__)
        return run

    def _begin(self) -> None:
        mode, parallelism = self._setting.mode, self._setting.parallelism
        jars = jars_of(self._plan)
        session.prepare(self._setting.spark, jars)
        needed = slots(self._plan, mode, parallelism)
        for sink in self._plan.sinks:
            sink.options.check()
        spark = session.use(self._setting.spark, needed, parallelism, isinstance(mode, RealTime), jars)
        self._reception = Reception(self._plan.sources)
        if isinstance(mode, Batch):
            self._reception.copy()
            self._life.move(State.RUNNING)
            self._batch(spark)
            self._life.move(State.FINISHED)
            return
        with naming_steps(self._plan, spark):
            lowered = lower_streaming(self._plan, spark, combine=not isinstance(mode, RealTime))
        wanted = fingerprint(self.job, self._plan, lowered.shapes, parallelism)
        checkpoint = open_checkpoint(self._setting.checkpoint, wanted)
        check_identities(self._plan.sources, checkpoint.folder)
        target = queries.Target(self.job, checkpoint.spark, checkpoint.identity)
        refuse_changed(Path(checkpoint.spark))
        stage(self._plan.sinks, checkpoint.folder)
        self._carriage = Carriage(self._loads(checkpoint.folder, target, lowered))
        # When nothing is left that may be refused: a system keeps for the job what it does not fetch.
        self._reception.start()
        self._query = queries.start(lowered, self._plan, mode, target, spark)
        self._carriage.start()
        self._life.move(State.RUNNING)

    def _batch(self, spark: SparkSession) -> None:
        with TemporaryDirectory(prefix="millstream-") as folder:
            target = queries.Target(self.job, f"{folder}/spark", secrets.token_hex(4))
            stage(self._plan.sinks, Path(folder))
            with naming_steps(self._plan, spark):
                lowered = lower_batch(self._plan, spark)
            queries.write_batch(lowered, self._plan.sinks, target, spark)
            self._carriage = Carriage(self._loads(Path(folder), target, lowered))
            self._carriage.carry()
            self._close()

    def _loads(self, folder: Path, target: queries.Target, lowered: Lowered) -> list[Load]:
        writers = target.writers(self._plan.sinks)
        return [load(sink, folder, writers[sink.name], lowered.carried[sink.name]) for sink in staged(self._plan.sinks)]

    def progress(self) -> Progress | None:
        """The last epoch that ended, if one has."""
        report = self._query.query.lastProgress if self._query else None
        if self._query is None or report is None:
            return None
        read = report if isinstance(report, dict) else json.loads(report.json)
        return Progress.read(read, self._query.counts_rows, self._query.held_back_by())

    def skipped(self) -> dict[str, int]:
        """For each source that skips records it cannot read, and each step that skips rows on which its Python code
        fails, how many they were so far."""
        if self._query is None:
            return {}
        sources = [source.name for source in self._plan.sources if source.options.on_error == "skip"]
        code = [node for node in walk(self._plan.flow) if isinstance(node, Call | Process)]
        steps = [node.name for node in code if node.on_error == "skip"]
        unread = {name: self._query.skipped(name) for name in sources}
        return unread | {name: self._query.failed(name) for name in steps}

    def late(self) -> dict[str, int]:
        """For each step that drops late rows, how many came too late so far, or had no time."""
        if self._query is None:
            return {}
        steps = [op for stage in self._plan.stages for op in stage.operators if isinstance(op, Stateful)]
        return {step.name: self._query.late(step.name) for step in steps if step.drops_late}

    def poll(self, seconds: float) -> bool:
        """Waits so long for the end; whether it came. A failure that the job is not started again from is raised."""
        if self._life.over:
            return True
        if self._life.state is State.RESTARTING:
            self._restart(seconds)
            return False
        assert self._query is not None
        try:
            ended = self._query.query.awaitTermination(max(1, round(seconds * 1000)) / 1000)
            for beside in (self._carriage, self._reception):
                if beside is not None and beside.failure is not None:
                    raise beside.failure
            if not ended:
                self._query.check()
                refuse_made_anew(self._query.made_anew())
                return False
            self._close()
        except Exception as error:
            self._failed(error)
            return False
        self._life.move(State.FINISHED)
        return True

    def _close(self) -> None:
        """The sinks first publish, then what is published is carried. Each is closed whatever becomes of the others."""
        parts = [part for part in (self._reception, self._carriage, self._query) if part is not None]
        self._carriage = self._reception = None
        with ExitStack() as stack:
            for part in parts:
                stack.callback(part.close)

    def _failed(self, error: Exception) -> None:
        """Plans another start, if there is to be one; otherwise raises what went wrong."""
        self._life.move(State.FAILING)
        self._abandon(error)
        found, now = explained(self.job, error, self._plan), time.monotonic()
        moments = [*(failure.at for failure in self.failures), now]
        delay = self._restarts.delay_ms(moments) if transient(found) else None
        if delay is None:
            self._life.move(State.FAILED)
            raise found from error
        self.failures.append(Failure(now, found, delay))
        LOG.warning('job "%s" failed and is started again in %.1f s: %s', self.job, delay / 1000, found.message)
        self._again_at = now + delay / 1000
        self._life.move(State.RESTARTING)

    def _abandon(self, error: Exception) -> None:
        """Leaves nothing running. What goes wrong now is told beside what went wrong first."""
        try:
            if self._query is not None:
                self._query.stop()
            self._close()
        except Exception as second:
            if second is not error:
                error.add_note(f"and, while closing: {second}")
        self._query = None

    def _restart(self, seconds: float) -> None:
        wait = self._again_at - time.monotonic()
        if wait > 0:
            time.sleep(min(wait, seconds))
            return
        try:
            self._begin()
        except Exception as error:
            self._failed(error)

    def wait(self) -> None:
        """Until the input ends, the job fails, or somebody tells it to stop: by Ctrl-C, or as `docker stop` does."""
        with interrupts() as interrupted:
            while not interrupted.is_set() and not self.poll(0.2):
                pass
        self.stop()

    def stop(self) -> None:
        """Stops cleanly: what is committed is published, the rest is read again next time."""
        if self._life.over:
            return
        self._life.move(State.STOPPING)
        try:
            if self._query is not None:
                self._query.stop()
            self._close()
        except Exception as error:
            self._life.move(State.FAILED)
            raise explained(self.job, error, self._plan) from error
        self._life.move(State.STOPPED)


def jars_of(plan: JobPlan) -> tuple[Jars, ...]:
    """What the connectors of a job need on Spark's class path."""
    options = [*(source.options for source in (*plan.sources, *plan.statics)), *(sink.options for sink in plan.sinks)]
    return tuple(dict.fromkeys(part.jars() for part in options if isinstance(part, NeedsJars)))


def slots(plan: JobPlan, mode: Mode, parallelism: int) -> int:
    """How many tasks run at once: in real time, all of them, all the time."""
    if isinstance(mode, RealTime):
        refuse_long_epochs(plan, mode)
    partitions = sum(source.options.partitions() for source in plan.sources)
    for static in plan.statics:
        static.options.partitions()  # an error if it is not there
    if isinstance(mode, RealTime):
        refuse_slow_sources(plan)
        return partitions + len(plan.stages) * parallelism
    return max(2, os.cpu_count() or 2)
