"""A run of a job: from the plan to a running query, and to its end."""

from __future__ import annotations

import json
import logging
import secrets
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from millstream.errors import MillstreamError
from millstream.metrics.model import EpochMetrics, Metrics
from millstream.plan.modes import Batch, RealTime
from millstream.plan.restarts import Restarts
from millstream.planner.stages import JobPlan
from millstream.runtime.carry import Carriage, Load, carried, load, make_outbox
from millstream.runtime.checkpoint import Checkpoint, fingerprint, open_checkpoint
from millstream.runtime.damage import make_good
from millstream.runtime.described import read_checkpoint
from millstream.runtime.failures import explained
from millstream.runtime.history import CheckpointRecord, history
from millstream.runtime.identities import check_identities, check_what_was_read
from millstream.runtime.interrupts import held, interrupts
from millstream.runtime.metering import Metering, late, skipped
from millstream.runtime.needs import ends, jars_of, need
from millstream.runtime.progress import Progress
from millstream.runtime.real_time import refuse_python_that_waits
from millstream.runtime.receive import Reception
from millstream.runtime.recovery import Failure, Recovery
from millstream.runtime.requests import Requests, followed
from millstream.runtime.savepoints.manifest import Savepoint
from millstream.runtime.savepoints.ports import outputs_of
from millstream.runtime.savepoints.rescaling import Rescaled, refuse_parallelism, rescaled
from millstream.runtime.savepoints.taking import take
from millstream.runtime.setting import Setting, prepare, session_for
from millstream.runtime.shared_disk import batch_folder
from millstream.runtime.states import Life, State
from millstream.spark import query as queries
from millstream.spark import session
from millstream.spark.barriers import pausing
from millstream.spark.flow import let_flow
from millstream.spark.lower.job import Lowered, at_time, lower_batch, lower_streaming
from millstream.spark.lower.wrong_step import naming_steps
from millstream.spark.sinks import write_batch
from millstream.spark.slots import Need, lacking
from millstream.spark.target import Target
from millstream.storage import CheckpointFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.watching import Observer


LOG = logging.getLogger("millstream")
BATCH = 0
"""The number of the one epoch of a batch."""
LOOK = 0.2
"""Seconds between two looks at a cluster's slots."""


class Run:
    """A started job: wait for it, watch it, stop it. `job.start()` and `job.run()` return it."""

    def __init__(self, job: str, plan: JobPlan, setting: Setting, restarts: Restarts) -> None:
        self.job = job
        self._plan = plan
        self._setting = setting
        self._requests: Requests | None = None
        self._recovery = Recovery(job, plan, restarts, setting.checkpoints.tolerate)
        self._life = Life(self._over)
        self._metering = Metering(plan)
        self._observers: list[Observer] = []
        self._query: queries.Query | None = None
        self._carriage: Carriage | None = None
        self._reception: Reception | None = None
        self._name = secrets.token_hex(8)
        self._started = False
        """Whether a query was started: from then on no other process may take over between two starts."""
        self._spark: SparkSession | None = None
        self._need = Need(1)
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
    def failures(self) -> list[Failure]:
        """Those from which it was, or is about to be, started again."""
        return self._recovery.failures

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
        except BaseException as interrupt:
            run._life.fail()
            run._abandon(interrupt)
            raise
        return run

    def _begin(self, patience: float | None = None) -> None:
        mode = self._setting.mode
        prepare(self.job, self._plan, self._setting)
        self._need = need(self._plan, mode, self._setting.parallelism)
        spark = self._spark = session_for(self.job, self._plan, self._setting, self._need, patience)
        self._metering.into(spark)
        self._reception = Reception(self._plan.sources, self._metering.received)
        if isinstance(mode, Batch):
            self._reception.copy()
            self._life.move(State.RUNNING)
            self._batch(mode, spark)
            self._life.move(State.FINISHED)
            return
        if isinstance(mode, RealTime):
            refuse_python_that_waits(self._plan, pausing(spark))
            let_flow(spark)
        self._setting = replace(self._setting, checkpoint=followed(self._setting.checkpoint))
        with naming_steps(self._plan, spark):
            lowered = lower_streaming(self._plan, spark, real_time=isinstance(mode, RealTime))
        checkpoint = self._checkpoint(lowered)
        target = Target(self.job, checkpoint.folder, checkpoint.identity, self._name)
        make_outbox(self._plan.sinks, checkpoint.folder)
        self._carriage = Carriage(self._loads(target, lowered), self._published)
        # After all checks that may refuse the job: a system keeps what the job does not fetch.
        self._reception.start(checkpoint.folder, ends(mode), spark)
        kept, again = self._setting.checkpoints, self._started
        mend = partial(self._make_good, spark)
        with held():  # a query that was started is known
            self._query = queries.start(lowered, self._plan, mode, target, kept, spark, again, mend)
        self._started = True
        self._recovery.note(self._query)
        self._metering.follow(self._query, self._carriage)
        self._carriage.start()
        self._requests = Requests(checkpoint.folder)
        self._life.move(State.RUNNING)

    def _checkpoint(self, lowered: Lowered) -> Checkpoint:
        """What the run continues from, if it and its sources are what they were."""
        wanted = fingerprint(self.job, self._plan, lowered.shapes, self._setting.parallelism)
        checkpoint = open_checkpoint(self._setting.checkpoint, wanted)
        check_identities(self._plan.sources, checkpoint.folder)
        check_what_was_read(self._plan.sources, checkpoint.folder)
        self._metering.begin(checkpoint.folder.committed())
        return checkpoint

    def _make_good(self, spark: SparkSession) -> str | None:
        """Looks for damage in the checkpoint's newest epoch."""
        about = read_checkpoint(self._setting.checkpoint)
        return make_good(about, self._plan, spark, jars_of(self._plan, self._setting.checkpoint))

    def _batch(self, mode: Batch, spark: SparkSession) -> None:
        with batch_folder(self._plan, self._setting.checkpoint, spark.sparkContext.master) as folder:
            target = Target(self.job, CheckpointFolder.at(folder), secrets.token_hex(4), self._name)
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

    def epochs(self, after: int = -1) -> list[EpochMetrics]:
        """The epochs that have ended since then, oldest first: of the last hundred."""
        return self._metering.epochs(after)

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """A few of the rows that passed lately, by `source:NAME`, `operator:NAME` and `sink:NAME`; none, unless Spark's
        setting `spark.millstream.rows` is `true`."""
        return self._metering.rows()

    @property
    def busy(self) -> bool:
        """Whether an epoch is under way."""
        return self._query is not None and self._query.busy

    def checkpoints(self) -> list[CheckpointRecord]:
        """The checkpoints of the last epochs, oldest first: when, how long, how large, by task."""
        return history(CheckpointFolder.at(self._setting.checkpoint))

    def watch(self, observer: Observer) -> None:
        """Lets the observer look whenever the run is polled, until it is over."""
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
        fails, how many there were so far."""
        return skipped(self._plan, self.metrics())

    def late(self) -> dict[str, int]:
        """For each step that drops late rows, how many came too late so far, or had no time."""
        return late(self._plan, self.metrics())

    def poll(self, seconds: float) -> bool:
        """Waits up to `seconds` for the run to end; whether it has ended. Raises a failure after which the job is not
        restarted."""
        if self._life.over:
            return True
        for observer in self._observers:
            observer.look()
        if self._requests is not None and self._requests.to_stop():
            self.stop()
            self._requests.stopped()
            return True
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
        """A source has partitions that no task reads yet: the query is planned again, after its last epoch."""
        assert self._query is not None
        LOG.info('job "%s" is started again: a source has more partitions', self.job)
        self._query.stop()
        self._close()
        self._query = None
        self._recovery.at_once()
        self._life.move(State.RESTARTING)

    def _close(self) -> None:
        """The sinks first publish, then what is published is carried. Each is closed whatever happens to the others."""
        parts = [part for part in (self._reception, self._carriage, self._query) if part is not None]
        self._carriage = self._reception = None
        with ExitStack() as stack:
            for part in parts:
                stack.callback(part.close)

    def _failed(self, error: Exception) -> None:
        """Plans another start, if there is to be one; otherwise raises what went wrong."""
        self._life.move(State.FAILING)
        query = self._query
        error = queries.taken_over(query) or error
        self._recovery.failed_checkpoint(error, query)
        self._abandon(error)
        try:
            self._recovery.plan(error, query, self._committed)
        except Exception:
            self._life.move(State.FAILED)
            raise
        self._life.move(State.RESTARTING)

    def _committed(self) -> int:
        """The last committed epoch; -1: none."""
        return max(CheckpointFolder.at(self._setting.checkpoint).committed(), default=-1)

    def _abandon(self, error: BaseException) -> None:
        """Leaves nothing running. What goes wrong now is reported along with what went wrong first."""
        try:
            with ExitStack() as stack:
                stack.callback(self._close)
                if self._query is not None:
                    stack.callback(self._query.stop)
        except Exception as second:
            if second is not error:
                error.add_note(f"and, while closing: {second}")
        self._query = None

    def _restart(self, seconds: float) -> None:
        wait = self._recovery.wait
        if wait > 0:
            time.sleep(min(wait, seconds))
            return
        try:
            if self._short_of_slots() and -wait < self._setting.on.slots_within_ms / 1000:
                time.sleep(min(LOOK, seconds))
                return
            self._begin(patience=0)
        except Exception as error:
            self._failed(error)

    def _short_of_slots(self) -> bool:
        """Whether a cluster has yet to replace what it has lost. Looked at between two polls: it may take a while, and
        the user may want to stop the run."""
        spark = self._setting.spark or session.there()
        return spark is not None and session.alive(spark) and lacking(spark, self._need)

    def wait(self) -> None:
        """Waits until the input ends, the job fails, or Ctrl-C or SIGTERM stops it, which `docker stop` sends."""
        with interrupts() as interrupted:
            while not interrupted.is_set() and not self.poll(0.2):
                pass
        self.stop()

    def savepoint(self, path: str) -> Savepoint:
        """Saves all state, as of the last committed epoch, in a new folder. The job runs on."""
        if self._spark is None or isinstance(self._setting.mode, Batch):
            raise MillstreamError("MS-SAVEPOINT-006", f'job "{self.job}" keeps no state that could be saved.')
        return take(self._spark, self._setting.checkpoint, path, outputs_of(self._plan))

    def rescale(self, parallelism: int) -> Rescaled:
        """Divides its state into `parallelism` parts: stops, saves, restores into a new checkpoint, and goes on."""
        if self._spark is None or self._query is None:
            raise MillstreamError("MS-RUN-015", f'job "{self.job}" does not run: it is {self.state.value}.')
        refuse_parallelism(parallelism)
        begun = time.monotonic()
        self._query.stop()
        self._close()
        self._query = None
        self._recovery.at_once()
        self._life.move(State.RESTARTING)
        done = rescaled(self.job, self._plan, self._setting.checkpoint, parallelism, self._spark)
        self._setting = replace(self._setting, checkpoint=done.checkpoint, parallelism=parallelism)
        self._started = False
        self._begin()
        return replace(done, moved=replace(done.moved, seconds=time.monotonic() - begun))

    def stop(self, savepoint: str | None = None) -> None:
        """Stops cleanly: what is committed is published, the rest is read again next time.

        `savepoint`: a new folder, in which all state is saved then.
        """
        if not self._life.over:
            self._stop()
        if savepoint is not None:
            self.savepoint(savepoint)

    def _stop(self) -> None:
        self._life.move(State.STOPPING)
        try:
            if self._query is not None:
                self._query.stop()
            self._close()
        except Exception as error:
            self._life.move(State.FAILED)
            raise explained(self.job, error, self._plan) from error
        self._life.move(State.STOPPED)
