"""How a query's epochs follow one another: its trigger, its clock, and the settings of its mode."""

from __future__ import annotations

import json
from typing import Any, cast

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from millstream.plan.checkpoints import Checkpoints
from millstream.plan.modes import MicroBatch, Mode, RealTime
from millstream.planner.stages import JobPlan
from millstream.spark import jvm
from millstream.spark.barriers import FOREVER_MS, with_barriers
from millstream.spark.lower.job import Lowered
from millstream.spark.sinks import form
from millstream.spark.target import Target
from millstream.storage import for_hadoop

FILES = "spark.sql.streaming.checkpointFileManagerClass"
RETAINED = "spark.sql.streaming.minBatchesToRetain"


def started(
    lowered: Lowered,
    plan: JobPlan,
    mode: Mode,
    target: Target,
    listed: str,
    spark: SparkSession,
    *,
    barriers: bool = False,
) -> StreamingQuery:
    """`barriers`: its epochs end by barriers that are sent through it, and not by themselves."""
    if isinstance(mode, MicroBatch) and mode.clock is not None:
        return clocked(lowered, listed, mode.clock, target, spark)
    return writer(lowered, plan, mode, target, listed, barriers).start()


def writer(
    lowered: Lowered, plan: JobPlan, mode: Mode, target: Target, listed: str, barriers: bool
) -> DataStreamWriter:
    frame = with_barriers(lowered.frame) if barriers else lowered.frame
    made = frame.writeStream.format(form(plan.sinks)).outputMode("update").queryName(target.job)
    made = made.option("sinks", listed).option("checkpointLocation", for_hadoop(target.folder.spark))
    if isinstance(mode, RealTime):
        # pyspark's overloads do not know it yet.
        real_time: Any = made.option("flush", "each").option("barriers", barriers).trigger
        lasting = FOREVER_MS if barriers else mode.checkpoint_every_ms
        return cast(DataStreamWriter, real_time(realTime=f"{lasting} milliseconds"))
    if isinstance(mode, MicroBatch) and mode.again:
        return made.trigger(once=True)
    if isinstance(mode, MicroBatch) and mode.until_caught_up:
        return made.trigger(availableNow=True)
    assert isinstance(mode, MicroBatch)
    return made.trigger(processingTime=f"{mode.every_ms} milliseconds")


def clocked(lowered: Lowered, listed: str, clock: str, target: Target, spark: SparkSession) -> StreamingQuery:
    """All there is, by the clock of a test."""
    start = jvm.named("millstream.testing.GivenClock").start
    return StreamingQuery(start(lowered.frame._jdf, clock, target.job, for_hadoop(target.folder.spark), listed))


def clock_of(lowered: Lowered, mode: Mode) -> Any:
    """Lets time move without idle sources; None: no source has a time."""
    if lowered.clock is None:
        return None
    every = mode.every_ms if isinstance(mode, MicroBatch) else 0
    told = json.dumps({**lowered.clock, "rests": not ends(mode)})
    return jvm.named("millstream.time.Clock").of(told, every, isinstance(mode, RealTime))


def ends(mode: Mode) -> bool:
    """Whether it processes what there is: then no source is ever idle."""
    return isinstance(mode, MicroBatch) and mode.until_caught_up


def configure(spark: SparkSession, mode: Mode, target: Target, policy: Checkpoints) -> None:
    """Settings of the mode and of the checkpoint's place, on the run's own session."""
    spark.conf.set(RETAINED, str(policy.retained(mode)))
    manager = target.folder.files.checkpoints
    if manager is not None and spark.conf.get(FILES, None) is None:
        spark.conf.set(FILES, manager)
    # A run that ended before its first commit leaves state behind, to which nothing refers.
    spark.conf.set("spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart", "false")
    if isinstance(mode, RealTime):
        # The allow-list knows Spark's own sinks only; that our plans fit real time is checked when they are made.
        spark.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
        spark.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1ms")
        # A stateless query would log its offsets in the background, after the sinks have learned that they are logged.
        spark.conf.set("spark.sql.streaming.realTimeMode.asyncProgressTrackingByDefault.enabled", "false")
