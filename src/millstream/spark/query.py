"""One job as one running Spark query, with its sinks' second phase beside it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from millstream.plan.connectors import HasIdentities, KeepsSecrets, StagedSink, TellsProgress, staged_topic
from millstream.plan.modes import MicroBatch, Mode, RealTime
from millstream.plan.nodes import Sink, Source
from millstream.planner.stages import JobPlan
from millstream.spark.lower.call import SKIPPED
from millstream.spark.lower.job import Lowered
from millstream.spark.lower.sink import columns
from millstream.spark.session import ROWS_ARE_COUNTED

FILES = "spark.sql.streaming.checkpointFileManagerClass"


@dataclass(frozen=True)
class Target:
    """Where a query keeps its progress, and under which names its sinks write."""

    job: str
    checkpoint: str
    identity: str

    def writers(self, sinks: tuple[Sink, ...]) -> dict[str, str]:
        return {sink.name: f"{self.job}.{sink.name}.{self.identity}" for sink in sinks}

    @property
    def staged(self) -> str:
        """The journal in which rows wait for those who carry them on."""
        return f"{self.checkpoint.removesuffix('/spark')}/staged"


class Query:
    """A started query. `close` stops it, publishes what is committed and gives the sinks' locks back."""

    def __init__(
        self, query: StreamingQuery, publisher: Any, clock: Any, spark: SparkSession, opened: ExitStack
    ) -> None:
        self.query = query
        self._publisher = publisher
        self._clock = clock
        self._spark = spark
        self._opened = opened
        self._watched: list[tuple[Source, Any]] = []
        self.counts_rows = spark.conf.get(ROWS_ARE_COUNTED) == "true"
        """Of state. If Spark does not, it says 0 or -1."""

    def stop(self) -> None:
        self.query.stop()

    def check(self) -> None:
        """Raises what went wrong beside the query."""
        self._publisher.check()

    def watch(self, plan: JobPlan, job: str) -> None:
        """Sees to it that what sources read is not something else all of a sudden."""
        jvm: Any = self._spark._jvm
        for number, source in enumerate(plan.sources):
            if isinstance(source.options, HasIdentities) and isinstance(source.options, TellsProgress):
                client = json.dumps(dict(source.options.consumed(job).client))
                known = json.dumps(source.options.identities())
                listener = jvm.millstream.kafka.TopicIds(self.query.id, number, known, client)
                self._opened.callback(listener.close)
                listen(listener, self._spark, self._opened)
                self._watched.append((source, listener))

    def made_anew(self) -> tuple[Source, str] | None:
        """A topic that was deleted and made anew since the query started, and the source that reads it."""
        found = ((source, listener.madeAnew()) for source, listener in self._watched)
        return next(((source, str(name)) for source, name in found if name is not None), None)

    def skipped(self, source: str) -> int:
        jvm: Any = self._spark._jvm
        return int(jvm.millstream.decode.Decode.skipped(source))

    def failed(self, step: str) -> int:
        """How many rows a step skipped because its Python code failed on them."""
        jvm: Any = self._spark._jvm
        called = SKIPPED[step].value if step in SKIPPED else 0
        return called + int(jvm.millstream.python.Skipped.count(step))

    def late(self, operator: str) -> int:
        jvm: Any = self._spark._jvm
        return int(jvm.millstream.stage.Late.count(operator))

    def held_back_by(self) -> str | None:
        """The source that is furthest behind in time, of those that are not idle."""
        name = self._clock.heldBackBy() if self._clock is not None else None
        return None if name is None else str(name)

    def keep(self, opened: ExitStack) -> None:
        """All is open, and stays so until `close`."""
        self._opened = opened

    def close(self) -> None:
        self._opened.close()


def start(lowered: Lowered, plan: JobPlan, mode: Mode, target: Target, spark: SparkSession) -> Query:
    """Opens one thing after the other. They are closed the other way round: if the next one fails, or by `close`.

    So publication comes before the locks: nobody else may write in between.
    """
    listed = sinks_json(plan.sinks, target, lowered, spark)
    jvm: Any = spark._jvm
    configure(spark, mode, target)
    with ExitStack() as opened:
        opened.callback(jvm.millstream.sink.Recovery.run(listed, target.checkpoint).close)
        publisher = jvm.millstream.sink.Publisher(listed, target.checkpoint)
        listen(publisher, spark, opened)
        opened.callback(publisher.close)
        clock = clock_of(lowered, mode, target, spark)
        if clock is not None:
            opened.callback(clock.close)
        if isinstance(mode, MicroBatch) and mode.clock is not None:
            query = clocked(lowered, listed, mode.clock, target, spark)
            return Query(query, publisher, clock, spark, opened.pop_all())
        query = writer(lowered, plan, mode, target, listed).start()
        opened.callback(query.stop)
        tell_readers(plan, target, query, spark, opened)
        started = Query(query, publisher, clock, spark, opened)
        started.watch(plan, target.job)
        started.keep(opened.pop_all())
        return started


def listen(listener: Any, spark: SparkSession, opened: ExitStack) -> None:
    streams = spark._jsparkSession.streams()
    streams.addListener(listener)
    opened.callback(streams.removeListener, listener)


def writer(lowered: Lowered, plan: JobPlan, mode: Mode, target: Target, listed: str) -> DataStreamWriter:
    made = lowered.frame.writeStream.format(form(plan.sinks)).outputMode("update").queryName(target.job)
    made = made.option("sinks", listed).option("checkpointLocation", target.checkpoint)
    if isinstance(mode, RealTime):
        return made.option("flush", "each").trigger(realTime=f"{mode.checkpoint_every_ms} milliseconds")
    if isinstance(mode, MicroBatch) and mode.until_caught_up:
        return made.trigger(availableNow=True)
    assert isinstance(mode, MicroBatch)
    return made.trigger(processingTime=f"{mode.every_ms} milliseconds")


def clocked(lowered: Lowered, listed: str, clock: str, target: Target, spark: SparkSession) -> StreamingQuery:
    """All there is, by the clock of a test."""
    jvm: Any = spark._jvm
    start = jvm.millstream.testing.GivenClock.start
    return StreamingQuery(start(lowered.frame._jdf, clock, target.job, target.checkpoint, listed))


def clock_of(lowered: Lowered, mode: Mode, target: Target, spark: SparkSession) -> Any:
    """Lets time go on without idle sources; None: no source has a time."""
    if lowered.clock is None:
        return None
    every = mode.every_ms if isinstance(mode, MicroBatch) else 0
    told = json.dumps({**lowered.clock, "rests": not ends(mode)})
    make = spark._jvm.millstream.time.Clock.of
    return make(spark._jsparkSession, target.job, told, every, isinstance(mode, RealTime))


def ends(mode: Mode) -> bool:
    """Whether it works off what there is: then no source is ever idle."""
    return isinstance(mode, MicroBatch) and mode.until_caught_up


def write_batch(lowered: Lowered, sinks: tuple[Sink, ...], target: Target, spark: SparkSession) -> None:
    listed = sinks_json(sinks, target, lowered, spark)
    lowered.frame.write.format(form(sinks)).option("sinks", listed).mode("append").save()


def form(sinks: tuple[Sink, ...]) -> str:
    """Spark's name of what writes: ours, or its own that drops rows as they are."""
    return "noop" if all(sink.options.format == "rows" for sink in sinks) else "millstream-sinks"


def tell_readers(plan: JobPlan, target: Target, query: StreamingQuery, spark: SparkSession, opened: ExitStack) -> None:
    """Listeners that tell the sources' systems how far the job has read."""
    jvm: Any = spark._jvm
    for number, source in enumerate(plan.sources):
        if isinstance(source.options, TellsProgress):
            consumed = source.options.consumed(target.job)
            client = json.dumps(dict(consumed.client))
            listener = jvm.millstream.kafka.GroupOffsets(query.id, number, consumed.group, client)
            opened.callback(finish, listener, query)
            listen(listener, spark, opened)


def finish(listener: Any, query: StreamingQuery) -> None:
    """Tells of the last epoch, whose progress may not have been heard of yet."""
    listener.finish(query._jsq.lastProgress())


def prepared(target: Target) -> str:
    """Where sinks that need it keep what they have prepared."""
    return f"{target.checkpoint.rsplit('/', 1)[0]}/sinks"


def sinks_json(sinks: tuple[Sink, ...], target: Target, lowered: Lowered, spark: SparkSession) -> str:
    """The sinks as the kernels know them. Secrets go another way: this text is shown in Spark's plans."""
    jvm: Any = spark._jvm
    listed = []
    whole = {part.name: part.dataType.json() for part in lowered.frame.schema.fields if part.name.startswith("row")}
    for tag, sink in enumerate(sinks):
        if sink.options.format == "rows":
            continue
        if isinstance(sink.options, KeepsSecrets):
            for placeholder, secret in sink.options.secrets().items():
                jvm.millstream.sink.Secrets.put(placeholder, secret)
        schema = {"schema": whole[f"row{tag}"]} if f"row{tag}" in whole else {}
        about = {
            "name": sink.name,
            "mode": sink.mode,
            "writer": target.writers(sinks)[sink.name],
            "columns": json.dumps(written(sink)),
            "prepared": prepared(target),
        }
        listed.append({**about, **sink.options.writer(), **where(sink, target), **schema})
    return json.dumps(listed)


def where(sink: Sink, target: Target) -> dict[str, str]:
    """A sink that the kernels do not know has a topic that stands in for it."""
    staged = {"kind": "journal", "path": target.staged, "topic": staged_topic(sink.name)}
    return staged if isinstance(sink.options, StagedSink) else {}


def written(sink: Sink) -> list[str]:
    """The names of the columns that are written."""
    return [name for name, _ in columns(sink)]


def configure(spark: SparkSession, mode: Mode, target: Target) -> None:
    """Settings of the mode and of the checkpoint's place, on the run's own session."""
    if "://" not in target.checkpoint and spark.conf.get(FILES, None) is None:
        spark.conf.set(FILES, "millstream.checkpoint.LocalCheckpoints")
    if isinstance(mode, RealTime):
        # The allow-list knows Spark's own sinks only; that our plans fit real time is checked when they are made.
        spark.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
        spark.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1ms")
        # A stateless query would log its offsets in the background, after the sinks were told that they are logged.
        spark.conf.set("spark.sql.streaming.realTimeMode.asyncProgressTrackingByDefault.enabled", "false")
