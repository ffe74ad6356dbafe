"""One job as one running Spark query, with its sinks' second phase beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.metrics.reading import SourceTime
from millstream.plan.checkpoints import Checkpoints
from millstream.plan.modes import MODE_NAMES, MicroBatch, Mode, RealTime
from millstream.planner.stages import JobPlan
from millstream.spark import jvm, tasks
from millstream.spark.barriers import coordinator, pauses
from millstream.spark.epochs import clock_of, configure, started
from millstream.spark.listeners import listen, listen_for_sources
from millstream.spark.lower.job import Lowered
from millstream.spark.session import ROWS_ARE_COUNTED
from millstream.spark.sinks import sinks_json
from millstream.spark.target import Target
from millstream.storage import for_hadoop

MOST_NOTED = 1000
"""How many epochs a checkpoint's history lists at most."""


class Query:
    """A started query. `close` stops it, publishes what is committed and gives the sinks' locks back."""

    def __init__(
        self,
        query: StreamingQuery,
        tenure: Any,
        publisher: Any,
        clock: Any,
        listeners: list[Any],
        coordinator: Any,
        pauses: str | None,
        history: Any,
        spark: SparkSession,
        opened: ExitStack,
    ) -> None:
        self.query = query
        self._tenure = tenure
        self._publisher = publisher
        self._clock = clock
        self._spark = spark
        self._opened = opened
        self._listeners = listeners
        self._coordinator = coordinator
        self._history = history
        self.pauses = pauses
        """Why it ends all tasks between two epochs, in real time; None: it does not."""
        self.counts_rows = spark.conf.get(ROWS_ARE_COUNTED) == "true"
        """Whether rows of state are counted. If Spark does not, it says 0 or -1."""

    def stop(self) -> None:
        """No barrier is on its way when tasks are stopped."""
        if self._coordinator is not None:
            self._coordinator.close()
        self.query.stop()

    def ended(self, seconds: float) -> bool:
        """Waits for the query's end, at most that long. Raises what made it fail."""
        milliseconds = max(1, round(seconds * 1000))
        # pyspark takes fractions of a second, and its types do not say so.
        return bool(self.query.awaitTermination(milliseconds / 1000))  # type: ignore[arg-type]

    def check(self) -> None:
        """Raises what went wrong beside the query."""
        self._publisher.check()
        if self._coordinator is not None:
            self._coordinator.check()
        for listener in self._listeners:
            listener.check()

    def checkpoint_failed(self, reason: str) -> None:
        """Notes it."""
        with suppress(Exception):  # Spark may be gone
            self._history.failed(self._tenure.decisions().lastEpoch() + 1, reason.strip().splitlines()[0][:300])

    def require_own(self) -> None:
        """Raises an error if another run of the job has taken over."""
        self._tenure.decisions().requireOwn()

    def outgrown(self) -> bool:
        """Whether a source has got partitions that no task reads: it must be started again."""
        return self._coordinator is not None and bool(self._coordinator.outgrown())

    def said_by_tasks(self) -> list[str]:
        """What its tasks said when they failed."""
        return tasks.failures(self._spark, str(self.query.runId))

    def held_back_by(self) -> str | None:
        """The source that is furthest behind in time, of those that are not idle."""
        name = self._clock.heldBackBy() if self._clock is not None else None
        return None if name is None else str(name)

    def published(self) -> int:
        """The last epoch that readers of committed rows see; -1: none."""
        return int(self._publisher.published())

    @property
    def busy(self) -> bool:
        """Whether an epoch is under way."""
        return bool(self.query.status["isTriggerActive"])

    def reports(self, most: int) -> list[dict[str, Any]]:
        """What Spark says about the last epochs, of which it keeps a hundred: oldest first."""
        kept = self.query._jsq.recentProgress()
        return [json.loads(kept[at].json()) for at in range(max(0, len(kept) - most), len(kept))]

    def times(self) -> dict[str, SourceTime]:
        """How far each source with a time is."""
        told = json.loads(self._clock.sources()) if self._clock is not None else {}
        return {name: SourceTime(**time) for name, time in told.items()}

    def close(self) -> None:
        self._opened.close()


def start(
    lowered: Lowered,
    plan: JobPlan,
    mode: Mode,
    target: Target,
    policy: Checkpoints,
    spark: SparkSession,
    again: bool,
    make_good: Callable[[], str | None] = lambda: None,
) -> Query:
    """`again`: after an earlier start of the same run, and only if no other run has taken over since.

    `make_good`: looks for damage in the checkpoint before the run continues from it.

    Opens one thing after the other. They are closed in reverse order, if the next one fails or by `close`. So
    publication comes before the locks: no other run may write in between.
    """
    listed = sinks_json(plan.sinks, target, lowered, spark)
    paths = json.dumps(target.folder.for_kernels())
    configure(spark, mode, target, policy)
    with ExitStack() as opened:
        tenure = jvm.named("millstream.sink.Recovery").run(listed, paths, target.run, again)
        opened.callback(tenure.close)
        # When no other run may commit any more, and all that counts is in the logs.
        damage = make_good()
        history = history_of(mode, target, policy, spark, opened)
        if damage is not None:
            history.failed(tenure.decisions().lastEpoch(), damage)
        publisher = jvm.named("millstream.sink.Publisher")(tenure)
        listen(publisher, spark, opened)
        opened.callback(publisher.close)
        clock = clock_of(lowered, mode)
        if clock is not None:
            opened.callback(clock.close)
        committing = jvm.named("millstream.time.Committing")
        commits = for_hadoop(target.folder.commits)
        listen(committing(spark._jsparkSession, target.job, commits, tenure.decisions(), clock), spark, opened)
        why = pauses(mode, target, spark)
        sent = coordinator(mode, target, policy, history, spark) if isinstance(mode, RealTime) and why is None else None
        if sent is not None:
            opened.callback(sent.close)
            sent.goBy(clock)
        query = started(lowered, plan, mode, target, listed, spark, barriers=sent is not None)
        opened.callback(query.stop)
        if sent is not None:
            opened.callback(sent.close)
        # An epoch that is run again is no news for a source's system.
        once = isinstance(mode, MicroBatch) and mode.again
        listeners = [] if once else listen_for_sources(plan, target.job, query, spark, opened)
        return Query(query, tenure, publisher, clock, listeners, sent, why, history, spark, opened.pop_all())


def history_of(mode: Mode, target: Target, policy: Checkpoints, spark: SparkSession, opened: ExitStack) -> Any:
    """Notes what happens to each checkpoint."""
    most = min(policy.retained(mode), MOST_NOTED)
    noted = jvm.named("millstream.checkpoint.History")(
        target.job, target.folder.history, target.run, MODE_NAMES[type(mode)], most
    )
    opened.callback(noted.close)
    listen(noted, spark, opened)
    context = spark.sparkContext._jsc.sc()
    context.addSparkListener(noted.commits())
    opened.callback(context.removeSparkListener, noted.commits())
    return noted


def taken_over(query: Query | None) -> Exception | None:
    """A run may have failed because another one has taken its place: then it must not restart."""
    try:
        if query is not None:
            query.require_own()
    except Exception as error:
        return error if "MS-CHECKPOINT-006" in str(error) else None
    return None
