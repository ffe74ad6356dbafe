"""Small segments of a sink are merged, on each storage, and readers continue."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from millstream import journal
from millstream.spark import jvm

WRITER, EPOCHS, ROWS = "job.sink", 40, 3
EVERY = [f"row {number}".encode() for number in range(EPOCHS * ROWS)]


def publish(topic: Any) -> None:
    """As a sink does, an epoch after the other."""
    opened, segment = (jvm.named(f"millstream.journal.{name}") for name in ("SegmentName$Open", "SegmentWriter"))
    log = topic.log(0)
    for epoch in range(EPOCHS):
        file = opened.of(WRITER, epoch, 0, 0, 0)
        writer = segment(topic.disk(), topic.open(0, file), 1)
        for value in EVERY[epoch * ROWS : (epoch + 1) * ROWS]:
            writer.append(0, None, bytearray(value))
        writer.sync()
        writer.close()
        log.publish(file, writer.records(), writer.bytes())


def look(topic: Any) -> int:
    merging, leave, waits = (jvm.named(f"millstream.journal.Merging{name}") for name in ("", "$Leave", "$Waits"))
    return int(merging.look(topic, 0, WRITER, EPOCHS, waits.NONE, leave.ALWAYS))


def test_small_segments_are_merged(folder: str, spark: SparkSession) -> None:
    journal.create(folder, "t")
    topic = jvm.named("millstream.journal.Topic").of(folder, "t", 1)
    if not folder.startswith(("hdfs:", "s3a:")):
        jvm.named("java.io.File")(f"{folder}/t/0/open").mkdirs()
    publish(topic)
    reading = journal.read(folder, "t")
    first = next(reading)
    rows = spark.read.format("millstream-journal").option("path", folder).option("topic", "t").load()
    before = [bytes(row.value) for row in rows.orderBy("offset").collect()]
    assert look(topic) == EPOCHS - 1
    look(topic)
    assert journal.describe(folder, "t").partitions[0].segments == 2
    assert [record.value for record in (first, *reading)] == EVERY
    assert [record.offset for record in journal.read(folder, "t")] == list(range(len(EVERY)))
    assert [record.value for record in journal.read(folder, "t", start={0: 50})] == EVERY[50:]
    assert before == [bytes(row.value) for row in rows.orderBy("offset").collect()] == EVERY
