"""Several attempts of one task, as on a cluster that loses executors: the rows of one of them count, once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.kafka.broker import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Driver:
    """What Spark does with the sink of a job, call by call."""

    def __init__(self, topics: Topics, topic: str, folder: Path, spark: SparkSession) -> None:
        assert spark._jvm is not None
        self._jvm = spark._jvm
        told = {
            "name": "out",
            "kind": "kafka",
            "writer": f"{topic}.1",
            "mode": "append",
            "topic": topic,
            "repairs": str(folder / "repairs"),
            "kafka.bootstrap.servers": topics.servers,
        }
        self._spec = self._jvm.millstream.sink.SinkSpec.parse(json.dumps([told]))[0]
        self._kind = self._jvm.millstream.kafka.KafkaSink()
        self.committer = self._kind.committer(self._spec)

    def attempt(self, epoch: int, attempt: int, *values: str) -> Any:
        """A task's attempt that has prepared its rows."""
        task = getattr(self._jvm.millstream.sink, "SinkKind$TaskId")(epoch, 0, 0, attempt, False, epoch - 1, False)
        writer = self._kind.writer(self._spec, task)
        for value in values:
            writer.write(None, json.dumps(value).encode())
        return writer.prepare()

    def commit(self, epoch: int, *prepared: Any) -> None:
        tasks = self._jvm.java.util.ArrayList()
        for one in prepared:
            tasks.add(one)
        decided = self.committer.prepared(epoch, tasks)
        self.committer.publish(epoch, decided, getattr(self._jvm.millstream.sink, "Committer$Fence").NONE)


def test_what_a_late_attempt_leaves_open_is_not_committed_later(
    topics: Topics, spark: SparkSession, tmp_path: Path
) -> None:
    driver = Driver(topics, topics.create("out", 1), tmp_path, spark)
    try:
        first = driver.attempt(0, 0, "a", "b")
        # The same task again: it takes over the id, so Kafka throws away what the first has written.
        driver.attempt(0, 1, "a", "b")
        driver.commit(0, first)
        driver.commit(1, driver.attempt(1, 2, "c"))
        assert topics.rows(topics.name("out")) == ["a", "b", "c"]
    finally:
        driver.committer.release()
        driver.committer.discard(2, 0)
        driver.committer.close()
