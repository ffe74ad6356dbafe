"""What a job needs from Spark: jars on its class path, and slots for its tasks."""

from __future__ import annotations

import os

from millstream.plan.apart import receivers_apart
from millstream.plan.connectors import Jars, LiesAt, NeedsJars, SinkOptions, SourceOptions
from millstream.plan.modes import Batch, MicroBatch, Mode, RealTime
from millstream.planner.stages import JobPlan
from millstream.runtime.real_time import refuse_long_epochs, refuse_slow_sources
from millstream.spark import storages
from millstream.spark.slots import Need


def jars_of(plan: JobPlan, checkpoint: str) -> tuple[Jars, ...]:
    """What the connectors of a job, and the storages that it is on, need on Spark's class path."""
    needed = (part.jars() for part in options_of(plan) if isinstance(part, NeedsJars))
    return tuple(dict.fromkeys([*needed, *storages.jars(addresses(plan, checkpoint))]))


def addresses(plan: JobPlan, checkpoint: str) -> list[str]:
    """Its checkpoint, and what it reads and writes by path."""
    return [checkpoint, *(part.path for part in options_of(plan) if isinstance(part, LiesAt))]


def options_of(plan: JobPlan) -> list[SourceOptions | SinkOptions]:
    sources = (source.options for source in (*plan.sources, *plan.statics))
    return [*sources, *(sink.options for sink in plan.sinks)]


def need(plan: JobPlan, mode: Mode, parallelism: int) -> Need:
    """How many tasks run at once: in real time, all of them, all the time."""
    if isinstance(mode, RealTime):
        refuse_long_epochs(plan, mode)
    partitions = sum(source.options.partitions() for source in plan.sources)
    for static in plan.statics:
        static.options.partitions()  # an error if it is not there
    receivers = 0 if ends(mode) else sum(receivers_apart(source.options) for source in plan.sources)
    if not isinstance(mode, RealTime):
        return Need(max(2, os.cpu_count() or 2), receivers=receivers)
    refuse_slow_sources(plan)
    stages = len(plan.stages)
    why = f"{partitions} for the sources' partitions, {stages} × {parallelism} for the stages' tasks"
    return Need(partitions + stages * parallelism, why, receivers)


def ends(mode: Mode) -> bool:
    """Whether a run ends with what there is now."""
    return isinstance(mode, Batch) or (isinstance(mode, MicroBatch) and mode.until_caught_up)
