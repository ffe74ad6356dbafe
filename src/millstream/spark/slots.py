"""Task slots: how many tasks Spark can run at once, which on a cluster is known when executors have registered."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from millstream.errors import MillstreamError
from millstream.plan.cluster import is_local

OFTEN = 0.1
"""Seconds between two looks."""


@dataclass(frozen=True)
class Need:
    """How many slots a run needs. `why`: in real time, which tasks they are for, as all of them run at once."""

    slots: int
    why: str | None = None

    @property
    def all_at_once(self) -> bool:
        return self.why is not None


@dataclass(frozen=True)
class Executor:
    host: str
    slots: int


def local(spark: SparkSession) -> bool:
    return is_local(spark.sparkContext.master)


def count(spark: SparkSession) -> int:
    """Those that are there now. What Spark calls its default parallelism is another number, if somebody set it."""
    if local(spark):
        return int(spark.sparkContext.defaultParallelism)
    return sum(executor.slots for executor in executors(spark))


def executors(spark: SparkSession) -> list[Executor]:
    """Those of a cluster that have registered and were not lost since."""
    listed: Any = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    found = (listed.apply(i) for i in range(listed.size()))
    return [Executor(str(one.hostPort()), int(one.maxTasks())) for one in found if one.id() != "driver"]


def lacking(spark: SparkSession, need: Need) -> bool:
    """Whether there are fewer than a run needs. Micro-batches and batch make do with one."""
    return count(spark) < (need.slots if need.all_at_once else 1)


def wait_for(spark: SparkSession, need: Need, seconds: float) -> None:
    """Until a cluster has given enough of them; a session of one machine has what it has."""
    deadline = time.monotonic() + (0 if local(spark) else seconds)
    while lacking(spark, need):
        if time.monotonic() >= deadline:
            raise too_few(spark, need, seconds)
        time.sleep(OFTEN)


def too_few(spark: SparkSession, need: Need, seconds: float) -> MillstreamError:
    if local(spark):
        there, found = f"and Spark has {count(spark)}", None
        hint = f'make the session with .master("local[{need.slots}]"), or lower parallelism'
    else:
        given = executors(spark)
        there = f"and {spark.sparkContext.master} has given {count(spark)} within {seconds:g} s"
        found = "executors: " + (", ".join(f"{one.host} with {one.slots}" for one in given) or "none")
        hint = (
            "add workers, free those that other applications hold, or lower parallelism; a cluster that is slow to "
            'give them can be waited for longer: ms.cluster(slots_within="5 minutes")'
        )
    wanted = f"real time needs {need.slots} task slots at once ({need.why})" if need.why else "a job needs a task slot"
    return MillstreamError("MS-RUN-003", f"{wanted}, {there}.", found=found, hint=hint)
