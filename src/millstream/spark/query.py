"""One job as one running Spark query, with its sinks' second phase beside it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.metrics.reading import SourceTime
from millstream.plan.modes import Mode, RealTime
from millstream.planner.stages import JobPlan
from millstream.spark import jvm, tasks
from millstream.spark.barriers import coordinator, pauses
from millstream.spark.epochs import clock_of, configure, started
from millstream.spark.listeners import listen, listen_for_sources
from millstream.spark.lower.job import Lowered
from millstream.spark.session import ROWS_ARE_COUNTED
from millstream.spark.sinks import sinks_json
from millstream.spark.target import Target


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
        spark: SparkSession,
        opened: ExitStack,
    ) -> None:
        self.query = query
        self.run = str(tenure.decisions().run())
        """The name of this start."""
        self._tenure = tenure
        self._publisher = publisher
        self._clock = clock
        self._spark = spark
        self._opened = opened
        self._listeners = listeners
        self._coordinator = coordinator
        self.pauses = pauses
        """Why it ends all tasks between two epochs, in real time; None: it does not."""
        self.counts_rows = spark.conf.get(ROWS_ARE_COUNTED) == "true"
        """Of state. If Spark does not, it says 0 or -1."""

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

    def times(self) -> dict[str, SourceTime]:
        """How far each source with a time is."""
        told = json.loads(self._clock.sources()) if self._clock is not None else {}
        return {name: SourceTime(**time) for name, time in told.items()}

    def close(self) -> None:
        self._opened.close()


def start(lowered: Lowered, plan: JobPlan, mode: Mode, target: Target, spark: SparkSession, after: str | None) -> Query:
    """Goes on after an earlier start, if there was one.

    Opens one thing after the other. They are closed the other way round: if the next one fails, or by `close`. So
    publication comes before the locks: nobody else may write in between.
    """
    listed = sinks_json(plan.sinks, target, lowered, spark)
    paths = json.dumps(target.folder.for_kernels())
    configure(spark, mode, target)
    with ExitStack() as opened:
        tenure = jvm.named("millstream.sink.Recovery").run(listed, paths, after)
        opened.callback(tenure.close)
        publisher = jvm.named("millstream.sink.Publisher")(tenure)
        listen(publisher, spark, opened)
        opened.callback(publisher.close)
        clock = clock_of(lowered, mode)
        if clock is not None:
            opened.callback(clock.close)
        committing = jvm.named("millstream.time.Committing")
        commits = target.folder.commits
        listen(committing(spark._jsparkSession, target.job, commits, tenure.decisions(), clock), spark, opened)
        why = pauses(mode, target, spark)
        sent = coordinator(mode, target, spark) if isinstance(mode, RealTime) and why is None else None
        if sent is not None:
            opened.callback(sent.close)
        query = started(lowered, plan, mode, target, listed, spark, barriers=sent is not None)
        opened.callback(query.stop)
        if sent is not None:
            opened.callback(sent.close)
        listeners = listen_for_sources(plan, target.job, query, spark, opened)
        return Query(query, tenure, publisher, clock, listeners, sent, why, spark, opened.pop_all())
