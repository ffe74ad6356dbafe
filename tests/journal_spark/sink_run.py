"""What a run does around a query with sinks. Used by the tests and by the job that they crash."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.journal.topics import open_topic
from millstream.storage import CheckpointFolder
from tests.journal_spark.segment_bytes import read_topic


def sink(journal: Path, topic: str, mode: str = "append", writer: str = "job_1") -> dict[str, str]:
    return {
        "name": topic,
        "kind": "journal",
        "writer": writer,
        "path": str(journal),
        "topic": topic,
        "partitions": str(open_topic(journal, topic).partitions),
        "mode": mode,
    }


def contents(journal: Path, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    return [(r.key, r.value) for records in read_topic(journal, topic).values() for r in records]


def paths(checkpoint: Path) -> str:
    return json.dumps(CheckpointFolder(str(checkpoint)).for_kernels())


NAME = "job"


@contextmanager
def recovered(spark: SparkSession, sinks: str, checkpoint: Path, publishing: bool = True) -> Iterator[Any]:
    """What a run does around its query: recovery, locks, the commit log, and the publisher that listens."""
    jvm = spark._jvm
    assert jvm is not None
    streams = spark._jsparkSession.streams()
    tenure = jvm.millstream.sink.Recovery.run(sinks, paths(checkpoint))
    commits = CheckpointFolder(str(checkpoint)).commits
    listeners = [jvm.millstream.time.Committing(spark._jsparkSession, NAME, commits, tenure.decisions(), None)]
    publisher = jvm.millstream.sink.Publisher(tenure) if publishing else None
    listeners += [publisher] if publishing else []
    for listener in listeners:
        streams.addListener(listener)
    try:
        yield publisher
    finally:
        if publisher is not None:
            publisher.close()
        for listener in listeners:
            streams.removeListener(listener)
        tenure.close()


def decisions(checkpoint: Path) -> list[dict[str, Any]]:
    """What is there of the sequence, in order."""
    return [json.loads(file.read_text()) for file in sorted((checkpoint / "decisions").glob("[0-9]*"))]


def start(df: DataFrame, sinks: str, checkpoint: Path, **trigger: Any) -> StreamingQuery:
    writer = df.writeStream.format("millstream-sinks").queryName(NAME).option("sinks", sinks).outputMode("update")
    if "realTime" in trigger:
        writer = writer.option("flush", "each")
    return writer.option("checkpointLocation", CheckpointFolder(str(checkpoint)).spark).trigger(**trigger).start()


def stream(spark: SparkSession, journal: Path, topic: str, **options: str) -> DataFrame:
    reader = spark.readStream.format("millstream-journal").options(path=str(journal), topic=topic, **options)
    return reader.load()
