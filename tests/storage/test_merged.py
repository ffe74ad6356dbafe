"""Small segments of a sink are merged, and topics of tables compacted, on each storage, and whoever reads goes on."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream import journal
from millstream.spark import jvm

WRITER, EPOCHS, ROWS = "job.sink", 40, 3
EVERY = [f"row {number}".encode() for number in range(EPOCHS * ROWS)]


def publish(topic: Any, keys: int = 0) -> None:
    """As a sink does, an epoch after the other. `keys`: how many different ones the rows have."""
    opened, segment = (jvm.named(f"millstream.journal.{name}") for name in ("SegmentName$Open", "SegmentWriter"))
    log = topic.log(0)
    for epoch in range(EPOCHS):
        file = opened.of(WRITER, epoch, 0, 0, 0)
        writer = segment(topic.disk(), topic.open(0, file), 1)
        for number in range(epoch * ROWS, (epoch + 1) * ROWS):
            key = bytearray(str(number % keys).encode()) if keys else None
            writer.append(0, key, bytearray(EVERY[number]))
        writer.sync()
        writer.close()
        log.publish(file, writer.records(), writer.bytes())


def look(topic: Any) -> int:
    merging, leave, waits = (jvm.named(f"millstream.journal.Merging{name}") for name in ("", "$Leave", "$Waits"))
    return int(merging.look(topic, 0, WRITER, EPOCHS, waits.NONE, leave.ALWAYS))


def opened(folder: str) -> Any:
    if not folder.startswith(("hdfs:", "s3a:")):
        jvm.named("java.io.File")(f"{folder}/t/0/open").mkdirs()
    keep = jvm.named("millstream.journal.Retention$Keep")(2**63 - 1, 2**63 - 1, 1000)
    return jvm.named("millstream.journal.Topic").of(folder, "t", 1, keep)


def test_small_segments_are_merged(folder: str, spark: SparkSession) -> None:
    journal.create(folder, "t")
    topic = opened(folder)
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


@pytest.mark.parametrize("by", ["sink", "producer"])
def test_topics_of_tables_are_compacted(by: str, folder: str, spark: SparkSession) -> None:
    """By the run of a sink, or by a producer."""
    keys, end = 4, len(EVERY)
    journal.create(folder, "t", compact=True)
    rows = spark.read.format("millstream-journal").option("path", folder).option("topic", "t").load()
    if by == "sink":
        topic = opened(folder)
        publish(topic, keys)
        reading = journal.read(folder, "t", start={0: 5})
        first = next(reading)
        compaction = jvm.named("millstream.journal.Compaction")
        leave, waits = (jvm.named(f"millstream.journal.Merging{name}") for name in ("$Leave", "$Waits"))
        looks = [compaction.look(topic, 0, WRITER, EPOCHS, waits.NONE, leave.ALWAYS) for _ in range(2)]
        assert looks == [end - ROWS - keys, 0]
    else:
        with journal.producer(folder, "t", segment_bytes=600) as out:
            for number, value in enumerate(EVERY):
                out.send(value, key=str(number % keys))
        reading = journal.read(folder, "t", start={0: 5})
        first = next(reading)
        assert journal.compact(folder, "t") > end // 2
    assert journal.describe(folder, "t").partitions[0].segments == 2
    newest = {str(number % keys).encode(): EVERY[number] for number in range(end)}
    for found in (journal.read(folder, "t"), (first, *reading)):
        assert {record.key: record.value for record in found} == newest
    assert {bytes(row.key): bytes(row.value) for row in rows.orderBy("offset").collect()} == newest
    offsets = [record.offset for record in journal.read(folder, "t")]
    assert offsets == [row.offset for row in rows.orderBy("offset").collect()]
    assert offsets[-1] == end - 1
