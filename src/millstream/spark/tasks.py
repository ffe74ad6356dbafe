"""What the tasks of a query said when they failed. Spark reports one of them, and another may have caused it."""

from __future__ import annotations

import time

from pyspark.sql import SparkSession

PATIENCE = 10.0
"""Seconds: a task that was told to end may be in the middle of something."""


def failures(spark: SparkSession, query_run: str) -> list[str]:
    """The errors of all failed tasks of a query that has ended; `query_run`: the id of its run."""
    context = spark.sparkContext._jsc.sc()
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(query_run)]
    stages = sorted({int(stage) for job in jobs if job is not None for stage in job.stageIds})
    deadline = time.monotonic() + PATIENCE
    while any(active(tracker.getStageInfo(stage)) for stage in stages) and time.monotonic() < deadline:
        time.sleep(0.05)
    context.listenerBus().waitUntilEmpty(int(1000 * PATIENCE))
    store = context.statusStore()
    return [said for stage in stages[-50:] for said in errors(store, stage)]


def active(stage: object) -> bool:
    return stage is not None and stage.numActiveTasks > 0  # type: ignore[attr-defined]


def errors(store: object, stage: int) -> list[str]:
    tasks = store.taskList(stage, 0, 10_000)  # type: ignore[attr-defined]
    said = (tasks.apply(i).errorMessage() for i in range(tasks.size()))
    return [str(one.get()) for one in said if one.isDefined()]
