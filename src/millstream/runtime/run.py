"""A run of a job: from the plan to a running query, and to its end."""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from millstream.errors import MillstreamError
from millstream.metrics.model import Metrics
from millstream.plan.cluster import Cluster
from millstream.plan.connectors import Jars, LiesAt, NeedsJars
from millstream.plan.modes import Batch, Mode, RealTime
from millstream.plan.restarts import Restarts
from millstream.planner.stages import JobPlan
from millstream.runtime.carry import Carriage, Load, carried, load, make_outbox
from millstream.runtime.checkpoint import Checkpoint, fingerprint, open_checkpoint
from millstream.runtime.failures import UNKNOWN, explained, transient
from millstream.runtime.identities import check_identities, check_what_was_read
from millstream.runtime.interrupts import interrupts
from millstream.runtime.metering import Metering, late, skipped
from millstream.runtime.progress import Progress
from millstream.runtime.real_time import refuse_long_epochs, refuse_slow_sources
from millstream.runtime.receive import Reception
from millstream.runtime.shared_disk import batch_folder, refuse_local_disks
from millstream.runtime.states import Life, State
from millstream.spark import query as queries
from millstream.spark import session, storages
from millstream.spark.executors import check_python
from millstream.spark.lower.job import Lowered, at_time, lower_batch, lower_streaming
from millstream.spark.lower.wrong_step import naming_steps
from millstream.spark.sinks import write_batch
from millstream.spark.slots import Need, lacking
from millstream.spark.target import Target
from millstream.storage import CheckpointFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LOG = logging.getLogger("millstream")
BATCH = 0
"""The number of the one epoch of a batch."""
LOOK = 0.2
"""Seconds between two looks at a cluster's slots."""


@dataclass(frozen=True)
class Setting:
    """How and where a job runs."""

    mode: Mode
    checkpoint: str
    parallelism: int
    spark: SparkSession | None
    on: Cluster = session.HERE


class Observer(Protocol):
    """Somebody who shows what a run does."""

    def look(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Failure:
    """A failure after which the job was started again. `at`: in seconds, by a clock of no date."""

    at: float
    error: MillstreamError
    delay_ms: int


class Run:
    """A started job: wait for it, watch it, stop it. `job.start()` and `job.run()` give it."""

    def __init__(self, job: str, plan: JobPlan, setting: Setting, restarts: Restarts) -> None:
        self.job = job
        self._plan = plan
        self._setting = setting
        self._restarts = restarts
        self._life = Life(self._over)
        self._metering = Metering(plan)
        self._observers: list[Observer] = []
        self._query: queries.Query | None = None
        self._carriage: Carriage | None = None
        self._reception: Reception | None = None
        self._again_at = 0.0
        self._after: str | None = None
        """The name of its last start: if it is not the last one of the checkpoint, somebody else has taken over."""
        self._spark: SparkSession | None = None
        self._need = Need(1)
        self.failures: list[Failure] = []
        """Those from which it was, or is about to be, started again."""
        self.metrics_url: str | None = None
        """Where Prometheus finds its figures, if they are served."""

    def __repr__(self) -> str:
        last = None
        with suppress(Exception):  # Spark may be gone
            last = self.progress()
        return f"<Run of {self.job}: {self.state.value}{f' after epoch {last.epoch}' if last else ''}>"

    @property
    def state(self) -> State:
        """`created`, `running`, `failing`, `restarting`, `stopping`, or how it ended: `stopped`, `failed`,
        `finished`."""
        return self._life.state

    @property
    def pauses(self) -> str | None:
        """Why rows wait between two epochs, in real time, where barriers cannot flow with them; None: they do not."""
        return self._query.pauses if self._query else None

    @property
    def over(self) -> bool:
        """Whether it has ended, one way or another."""
        return self._life.over

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

    def _session(self, patience: float | None) -> SparkSession:
        """Where the job runs; what cannot run there is refused."""
        setting, jars = self._setting, jars_of(self._plan, self._setting.checkpoint)
        if setting.on.master is not None:
            refuse_local_disks(self.job, self._plan, setting.checkpoint, setting.on, setting.on.master)
        session.prepare(setting.spark, jars, setting.on)
        self._need = need(self._plan, setting.mode, setting.parallelism)
        for sink in self._plan.sinks:
            sink.options.check()
        spark = session.use(setting.spark, self._need, setting.parallelism, jars, setting.on, patience)
        refuse_local_disks(self.job, self._plan, setting.checkpoint, setting.on, spark.sparkContext.master)
        check_python(self._plan, spark)
        return spark

    def _begin(self, patience: float | None = None) -> None:
        mode = self._setting.mode
        spark = self._spark = self._session(patience)
        self._metering.into(spark)
        self._reception = Reception(self._plan.sources)
        if isinstance(mode, Batch):
            self._reception.copy()
            self._life.move(State.RUNNING)
            self._batch(mode, spark)
            self._life.move(State.FINISHED)
            return
        with naming_steps(self._plan, spark):
            lowered = lower_streaming(self._plan, spark, combine=not isinstance(mode, RealTime))
        checkpoint = self._checkpoint(lowered)
        target = Target(self.job, checkpoint.folder, checkpoint.identity)
        make_outbox(self._plan.sinks, checkpoint.folder)
        self._carriage = Carriage(self._loads(target, lowered), self._published)
        # When nothing is left that may be refused: a system keeps for the job what it does not fetch.
        self._reception.start()
        self._query = queries.start(lowered, self._plan, mode, target, spark, self._after)
        self._after = self._query.run
        self._metering.follow(self._query, self._carriage)
        self._carriage.start()
        self._life.move(State.RUNNING)

    def _checkpoint(self, lowered: Lowered) -> Checkpoint:
        """What the run goes on from, if it and its sources are what they were."""
        wanted = fingerprint(self.job, self._plan, lowered.shapes, self._setting.parallelism)
        checkpoint = open_checkpoint(self._setting.checkpoint, wanted)
        check_identities(self._plan.sources, checkpoint.folder)
        check_what_was_read(self._plan.sources, checkpoint.folder)
        self._metering.begin(checkpoint.folder.committed())
        return checkpoint

    def _batch(self, mode: Batch, spark: SparkSession) -> None:
        with batch_folder(self._plan, self._setting.checkpoint, spark.sparkContext.master) as folder:
            target = Target(self.job, CheckpointFolder.at(folder), secrets.token_hex(4))
            make_outbox(self._plan.sinks, target.folder)
            with naming_steps(self._plan, spark):
                lowered = at_time(lower_batch(self._plan, spark), mode.clock_ms, spark)
            write_batch(lowered, self._plan.sinks, target, spark)
            self._carriage = Carriage(self._loads(target, lowered), lambda: BATCH)
            self._carriage.carry()
            self._close()

    def _published(self) -> int:
        assert self._query is not None
        return self._query.published()

    def _loads(self, target: Target, lowered: Lowered) -> list[Load]:
        types = lowered.carried
        return [load(sink, target.folder, target.writer(sink), types[sink.name]) for sink in carried(self._plan.sinks)]

    def progress(self) -> Progress | None:
        """The last epoch that ended, if one has."""
        report = self._query.query.lastProgress if self._query else None
        if self._query is None or report is None:
            return None
        read = report if isinstance(report, dict) else json.loads(report.json)
        return Progress.read(read, self._query.counts_rows, self._query.held_back_by())

    def metrics(self) -> Metrics:
        """What it has done so far, in figures: by source, operator, sink and epoch."""
        return self._metering.read(self.job, self.state.value, len(self.failures))

    def watch(self, observer: Observer) -> None:
        """Lets somebody look whenever the run is polled, until it is over."""
        if self.over:
            observer.close()
        else:
            self._observers.append(observer)

    def _over(self) -> None:
        with ExitStack() as stack:
            stack.callback(self._metering.close)
            for observer in self._observers:
                stack.callback(observer.close)

    def skipped(self) -> dict[str, int]:
        """For each source that skips records it cannot read, and each step that skips rows on which its Python code
        fails, how many they were so far."""
        return skipped(self._plan, self.metrics())

    def late(self) -> dict[str, int]:
        """For each step that drops late rows, how many came too late so far, or had no time."""
        return late(self._plan, self.metrics())

    def poll(self, seconds: float) -> bool:
        """Waits for the end, up to so many seconds; whether it came. A failure after which the job is not started again
        is raised."""
        if self._life.over:
            return True
        for observer in self._observers:
            observer.look()
        if self._life.state is State.RESTARTING:
            self._restart(seconds)
            return False
        assert self._query is not None
        try:
            ended = self._query.ended(seconds)
            for beside in (self._carriage, self._reception):
                if beside is not None and beside.failure is not None:
                    raise beside.failure
            if not ended:
                self._query.check()
                if self._query.outgrown():
                    self._renew()
                return False
            self._close()
        except Exception as error:
            self._failed(error)
            return False
        self._life.move(State.FINISHED)
        return True

    def _renew(self) -> None:
        """A source has partitions that no task reads yet: the query is planned again, behind its last epoch."""
        assert self._query is not None
        LOG.info('job "%s" is started again: a source has more partitions', self.job)
        self._query.stop()
        self._close()
        self._query = None
        self._again_at = time.monotonic()
        self._life.move(State.RESTARTING)

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
        query = self._query
        error = taken_over(query) or error
        self._abandon(error)
        found, now = self._explained(error, query), time.monotonic()
        moments = [*(failure.at for failure in self.failures), now]
        delay = self._restarts.delay_ms(moments) if transient(found, self._plan) else None
        if delay is None:
            self._life.move(State.FAILED)
            raise found from error
        self.failures.append(Failure(now, found, delay))
        LOG.warning('job "%s" failed and is started again in %.1f s: %s', self.job, delay / 1000, found.message)
        self._again_at = now + delay / 1000
        self._life.move(State.RESTARTING)

    def _explained(self, error: Exception, query: queries.Query | None) -> MillstreamError:
        """In real time a task that fails takes others along, and Spark may tell of one of those: then each is asked."""
        found = explained(self.job, error, self._plan)
        if query is None or found.code != UNKNOWN:
            return found
        with suppress(Exception):  # Spark may be gone: then there is nobody to ask
            others = (explained(self.job, RuntimeError(said), self._plan) for said in query.said_by_tasks())
            return next((other for other in others if other.code != UNKNOWN), found)
        return found

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
        if self._short_of_slots() and -wait < self._setting.on.slots_within_ms / 1000:
            time.sleep(min(LOOK, seconds))
            return
        try:
            self._begin(patience=0)
        except Exception as error:
            self._failed(error)

    def _short_of_slots(self) -> bool:
        """Whether a cluster has yet to replace what it has lost. Looked at between two polls: it may take a while, and
        somebody may want to stop the run."""
        return self._spark is not None and session.alive(self._spark) and lacking(self._spark, self._need)

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


def taken_over(query: queries.Query | None) -> Exception | None:
    """What made a run fail may be that another one has taken its place: then it must not start again."""
    try:
        if query is not None:
            query.require_own()
    except Exception as error:
        return error if "MS-CHECKPOINT-006" in str(error) else None
    return None


def jars_of(plan: JobPlan, checkpoint: str) -> tuple[Jars, ...]:
    """What the connectors of a job, and the storages that it lies on, need on Spark's class path."""
    options = [*(source.options for source in (*plan.sources, *plan.statics)), *(sink.options for sink in plan.sinks)]
    addresses = [checkpoint, *(part.path for part in options if isinstance(part, LiesAt))]
    needed = (part.jars() for part in options if isinstance(part, NeedsJars))
    return tuple(dict.fromkeys([*needed, *storages.jars(addresses)]))


def need(plan: JobPlan, mode: Mode, parallelism: int) -> Need:
    """How many tasks run at once: in real time, all of them, all the time."""
    if isinstance(mode, RealTime):
        refuse_long_epochs(plan, mode)
    partitions = sum(source.options.partitions() for source in plan.sources)
    for static in plan.statics:
        static.options.partitions()  # an error if it is not there
    if not isinstance(mode, RealTime):
        return Need(max(2, os.cpu_count() or 2))
    refuse_slow_sources(plan)
    stages = len(plan.stages)
    why = f"{partitions} for the sources' partitions, {stages} × {parallelism} for the stages' tasks"
    return Need(partitions + stages * parallelism, why)
