"""A whole job as one Spark query: sources, routers, stages, sinks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from millstream.plan.connectors import WHOLE_ROWS, CarriedSink
from millstream.planner.stages import JobPlan
from millstream.spark import jvm
from millstream.spark.lower import source as sources
from millstream.spark.lower.batch import Batch, Endings
from millstream.spark.lower.router import Lane, route
from millstream.spark.lower.sink import carried_types, cells, lower_sinks, whole_type
from millstream.spark.lower.stage import Output, lower_stage
from millstream.spark.lower.state import StageShape


@dataclass(frozen=True)
class Lowered:
    """The rows for all sinks, and how each stage keeps its state.

    `carried`: by sink, the types of rows that Python carries to it. `clock`: the sources with a time.
    """

    frame: DataFrame
    shapes: tuple[StageShape, ...]
    carried: dict[str, str]
    clock: dict[str, object] | None = None


def lower_streaming(plan: JobPlan, spark: SparkSession, real_time: bool = False) -> Lowered:
    upstream = [Output(sources.stream(source, spark, real_time), {source: (None, None)}) for source in plan.sources]
    clock = clocked(plan, [output.frame for output in upstream], spark) if plan.timed else None
    shapes: list[StageShape] = []
    ticks = spark.readStream.format("millstream-ticks").load() if plan.clocked else None
    for number, stage in enumerate(plan.stages):
        upstream = [lower_stage(plan, stage, upstream, spark, not real_time, ticks if number == 0 else None)]
        assert upstream[0].shape is not None
        shapes.append(upstream[0].shape)
    written = lower_sinks(plan.sinks, plan.routes, upstream)
    timed = DataFrame(jvm.named("millstream.rules.EpochNow").of(written._jdf), spark)
    return Lowered(timed, tuple(shapes), carried_types(plan.routes, upstream), clock)


def clocked(plan: JobPlan, frames: list[DataFrame], spark: SparkSession) -> dict[str, object]:
    timed = [(place, source) for place, source in enumerate(plan.sources) if source.holds_time]
    told = [sources.clock(source, place, frames[place], spark) for place, source in timed]
    return {"horizon_ms": plan.horizon_ms, "sources": told, "stateful": bool(plan.stages)}


def lower_batch(
    plan: JobPlan, spark: SparkSession, endings: Endings = lambda source: None, watermark: int | None = None
) -> Lowered:
    """The rows of every sink after all input, or after that up to some offsets, to be written in one go."""
    timed = tuple(source for source in plan.sources if source.holds_time)
    batch = Batch(spark, timed, endings, watermark)
    typed = [(tag, sink) for tag, sink in enumerate(plan.sinks) if sink.options.format in WHOLE_ROWS]
    whole = {tag: whole_type(sink, batch.rows(sink)) for tag, sink in typed}
    written: DataFrame | None = None
    for tag, sink in enumerate(plan.sinks):
        rows = route(batch.rows(sink), [Lane(None, None, (), cells(sink, tag, whole))])
        written = rows if written is None else written.unionByName(rows)
    assert written is not None
    carried = [sink for sink in plan.sinks if isinstance(sink.options, CarriedSink)]
    return Lowered(written, (), {sink.name: whole_type(sink, batch.rows(sink)).json() for sink in carried})


def at_time(lowered: Lowered, millis: int | None, spark: SparkSession) -> Lowered:
    """A batch at this time, in milliseconds, for a test; None: by the machine's clock."""
    if millis is None:
        return lowered
    assert spark._jvm is not None
    fixed = spark._jvm.millstream.rules.FixedTime.of(lowered.frame._jdf, millis)
    return replace(lowered, frame=DataFrame(fixed, spark))
