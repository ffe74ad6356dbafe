"""Spark optimizes a query once for all epochs in which the same sources have rows, and each epoch reads its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import millstream as ms
from millstream import journal
from millstream.spark import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ONCE_PER_PLAN = "org.apache.spark.sql.execution.datasources.v2.V2Writes"
"""A rule that Spark's optimizer applies once to every plan."""


def optimized() -> int:
    """How many plans Spark has optimized since it was last asked to forget."""
    lines = str(jvm.named("org.apache.spark.sql.catalyst.rules.RuleExecutor").dumpTimeSpent()).splitlines()
    runs = [line.split()[-1] for line in lines if line.startswith(ONCE_PER_PLAN)]
    return int(runs[0]) if runs else 0


class Doors:
    """People go in by one topic and out by another, one of each in an epoch."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self.spark, self.path = folder, spark, str(folder / "journal")
        for topic in ("in", "out", "inside"):
            journal.create(self.path, topic)

    def go(self, topic: str, *who: str) -> None:
        with journal.producer(self.path, topic) as producer:
            for one in who:
                producer.send({"who": one})

    def plans(self, job: str) -> int:
        """How many it took to work off what there is."""
        made = ms.Job(job, checkpoint=str(self.folder / "checkpoint"))
        came, left = (
            made.stream(journal.source(topic, path=self.path, max_rows_per_epoch=1), "who STRING").select(
                "who", n=str(by)
            )
            for topic, by in (("in", 1), ("out", -1))
        )
        counted = came.union(left).group_by("who").agg(n="sum(n)").named("counted")
        counted.to(journal.sink("inside", path=self.path))
        jvm.named("org.apache.spark.sql.catalyst.rules.RuleExecutor").resetMetrics()
        made.run(ms.available_now(), spark=self.spark)
        return optimized()

    def inside(self) -> dict[str, int]:
        latest = {record.key: record for record in journal.read(self.path, "inside")}
        rows = [record.json() for record in latest.values() if record.value is not None]
        return {row["who"]: row["n"] for row in rows}


def test_one_plan_for_each_set_of_sources_with_rows(tmp_path: Path, spark: SparkSession) -> None:
    doors = Doors(tmp_path, spark)
    doors.go("in", *"abcd")
    doors.go("out", *"ab")
    before = doors.plans("doors")
    assert doors.inside() == {"a": 0, "b": 0, "c": 1, "d": 1}
    # Six epochs with rows of both, five with rows of one.
    doors.go("in", *"abcdefabcde")
    doors.go("out", *"abcdef")
    assert doors.plans("doors") == before
    assert doors.inside() == {"a": 1, "b": 1, "c": 2, "d": 2, "e": 1, "f": 0}
