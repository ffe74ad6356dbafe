"""The journal as a Spark source: batch, micro-batch, and what it says when something is wrong."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.journal_spark.segment_bytes import Record, append, frame, header, make_topic, write_segment


def rows(count: int, first: int = 0) -> list[Record]:
    return [Record(f"k{i}".encode(), f"v{i}".encode(), (), 1000 + i) for i in range(first, first + count)]


def read(spark: SparkSession, journal: Path, topic: str = "t", **options: str) -> DataFrame:
    return spark.read.format("millstream-journal").options(path=str(journal), topic=topic, **options).load()


def values(df: DataFrame) -> list[str]:
    return [bytes(row.value).decode() for row in df.orderBy("partition", "offset").collect()]


def names(count: int, first: int = 0) -> list[str]:
    return [f"v{i}" for i in range(first, first + count)]


def test_every_column(spark: SparkSession, tmp_path: Path) -> None:
    folder = make_topic(tmp_path, "t", 2)
    full = Record(b"k", b"v", (("h", b"1"), ("none", None), ("ü", b"")), 1_700_000_000_123)
    write_segment(folder / "1", 0, [full, Record(None, None, (), 0), Record(b"", b"", (), -1)])
    found = read(spark, tmp_path).selectExpr("*", "unix_millis(timestamp) AS ms").orderBy("offset").collect()
    first, empty, blank = found
    assert (bytes(first.key), bytes(first.value)) == (b"k", b"v")
    assert [(h.name, h.value and bytes(h.value)) for h in first.headers] == [
        ("h", b"1"),
        ("none", None),
        ("ü", b""),
    ]
    assert (first.partition, first.offset, first.ms) == (1, 0, 1_700_000_000_123)
    assert (empty.key, empty.value, empty.headers, empty.offset) == (None, None, [], 1)
    assert (bytes(blank.key), bytes(blank.value), blank.ms) == (b"", b"", -1)


def test_columns_are_pruned(spark: SparkSession, tmp_path: Path) -> None:
    folder = make_topic(tmp_path, "t")
    write_segment(folder / "0", 0, rows(3))
    df = read(spark, tmp_path).select("offset", "value")
    assert "headers" not in df._jdf.queryExecution().executedPlan().toString()
    assert [(row.offset, bytes(row.value)) for row in df.collect()] == [(0, b"v0"), (1, b"v1"), (2, b"v2")]
    assert read(spark, tmp_path).count() == 3


def test_segments_follow_each_other(spark: SparkSession, tmp_path: Path) -> None:
    folder = make_topic(tmp_path, "t")
    write_segment(folder / "0", 0, rows(3))
    write_segment(folder / "0", 3, rows(2, 3))
    (folder / "0" / "00000000000000000005-job-000000000000-00000.seg").write_bytes(header() + frame(rows(1, 5)[0]))
    (folder / "0" / "open").mkdir()
    (folder / "0" / "open" / "job-000000000001-00000-0-7.seg").write_bytes(header() + frame(rows(1, 6)[0]))
    assert values(read(spark, tmp_path)) == names(6)
    assert values(read(spark, tmp_path, starting='{"0": 2}', ending='{"0": 4}')) == ["v2", "v3"]


def test_large_records(spark: SparkSession, tmp_path: Path) -> None:
    folder = make_topic(tmp_path, "t")
    big = [Record(b"k", bytes([i]) * (300_000 * (i + 1))) for i in range(5)]
    write_segment(folder / "0", 0, big)
    found = read(spark, tmp_path).orderBy("offset").collect()
    assert [bytes(row.value) for row in found] == [record.value for record in big]


def test_micro_batches_are_limited_and_go_on_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    folder = make_topic(tmp_path / "journal", "t", 2)
    segments = [write_segment(folder / str(p), 0, rows(25, 100 * p)) for p in range(2)]
    stream = spark.readStream.format("millstream-journal").options(
        path=str(tmp_path / "journal"), topic="t", maxRowsPerEpoch="10"
    )

    def run() -> list[int]:
        query = (
            stream.load()
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]

    assert run() == [10] * 5
    append(segments[0], *rows(3, 25))
    write_segment(folder / "1", 25, rows(4, 125))
    assert sum(run()) == 7
    assert run() == []
    assert values(spark.read.parquet(str(tmp_path / "out"))) == names(28) + names(29, 100)
    newest = max((tmp_path / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    assert newest.read_text().splitlines()[-1] == '{"0": 28, "1": 29}'


def test_latest_sees_only_what_comes_later(spark: SparkSession, tmp_path: Path) -> None:
    folder = make_topic(tmp_path, "t")
    segment = write_segment(folder / "0", 0, rows(3))
    assert values(read(spark, tmp_path, starting="latest")) == []
    query = (
        spark.readStream.format("millstream-journal")
        .options(path=str(tmp_path), topic="t", starting="latest")
        .load()
        .writeStream.format("memory")
        .queryName("later")
        .start()
    )
    query.processAllAvailable()
    append(segment, *rows(2, 3))
    query.processAllAvailable()
    query.stop()
    assert values(spark.table("later")) == ["v3", "v4"]


def test_latest_is_where_it_was_after_a_crash(spark: SparkSession, tmp_path: Path) -> None:
    """The first epoch is run again, and begins where it began: here it was to end after two more rows."""
    segment = write_segment(make_topic(tmp_path, "t") / "0", 0, rows(3))
    frame = (
        spark.readStream.format("millstream-journal")
        .options(path=str(tmp_path), topic="t", starting="latest")
        .load()
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "c"))
    )
    query = frame.start(str(tmp_path / "first"))
    query.processAllAvailable()
    query.stop()
    for name in ("commits/0", "commits/.0.crc", "offsets/.0.crc"):
        (tmp_path / "c" / name).unlink(missing_ok=True)
    append(segment, *rows(2, 3))
    logged = tmp_path / "c" / "offsets" / "0"
    logged.write_text(logged.read_text().replace('{"0": 3}', '{"0": 5}'))
    query = frame.start(str(tmp_path / "again"))
    query.processAllAvailable()
    query.stop()
    assert sorted(values(spark.read.parquet(str(tmp_path / "again")))) == ["v3", "v4"]


def test_a_topic_that_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    make_topic(tmp_path, "likes")
    make_topic(tmp_path, "matches")
    with pytest.raises(Exception, match="MS-JOURNAL-001") as error:
        read(spark, tmp_path, "x")
    expected = f'MS-JOURNAL-001: topic "x" does not exist in journal {tmp_path}.\n  found: topics likes, matches'
    assert expected in str(error.value)
    with pytest.raises(Exception, match="MS-JOURNAL-001"):
        read(spark, tmp_path / "nowhere", "x")


def test_a_format_that_is_not_known(spark: SparkSession, tmp_path: Path) -> None:
    (make_topic(tmp_path, "t") / "topic.json").write_text('{"format": 3, "partitions": 1}')
    with pytest.raises(Exception, match="MS-JOURNAL-002"):
        read(spark, tmp_path)


@pytest.mark.parametrize("starting", ['{"0": 4}', '{"0": -1}', '{"7": 0}', "[1]", "soon"])
def test_offsets_out_of_range(spark: SparkSession, tmp_path: Path, starting: str) -> None:
    write_segment(make_topic(tmp_path, "t") / "0", 0, rows(3))
    with pytest.raises(Exception, match="MS-JOURNAL-004"):
        read(spark, tmp_path, starting=starting).collect()


@pytest.mark.parametrize("cut", [1, 8, 20, 29])
def test_a_torn_tail_is_not_read(spark: SparkSession, tmp_path: Path, cut: int) -> None:
    path = write_segment(make_topic(tmp_path, "t") / "0", 0, rows(3))
    path.write_bytes(path.read_bytes() + frame(rows(1, 3)[0])[:cut])
    assert values(read(spark, tmp_path)) == names(3)


def test_a_tail_that_fails_its_checksum_is_torn(spark: SparkSession, tmp_path: Path) -> None:
    path = write_segment(make_topic(tmp_path, "t") / "0", 0, rows(3))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert values(read(spark, tmp_path)) == names(2)


def test_a_torn_tail_is_cut_off_and_written_again(spark: SparkSession, tmp_path: Path) -> None:
    path = write_segment(make_topic(tmp_path, "t") / "0", 0, rows(3))
    whole = path.read_bytes()
    path.write_bytes(whole + frame(rows(1, 9)[0])[:12])
    assert values(read(spark, tmp_path)) == names(3)
    path.write_bytes(whole)
    append(path, *rows(2, 3))
    assert values(read(spark, tmp_path)) == names(5)


def corrupt_at(path: Path, record: int, records: list[Record]) -> int:
    at = 16 + sum(len(frame(r)) for r in records[:record])
    data = bytearray(path.read_bytes())
    data[at + 12] ^= 0xFF
    path.write_bytes(data)
    return at


def test_corruption_names_the_place(spark: SparkSession, tmp_path: Path) -> None:
    path = write_segment(make_topic(tmp_path, "t") / "0", 0, rows(5))
    at = corrupt_at(path, 2, rows(5))
    with pytest.raises(Exception, match="MS-JOURNAL-003") as error:
        read(spark, tmp_path).collect()
    place = f'topic "t", partition 0: the record at offset 2 (byte {at} of {path}) is corrupt.'
    assert f"MS-JOURNAL-003: {place}" in str(error.value)


def test_a_length_that_makes_no_sense_is_corruption(spark: SparkSession, tmp_path: Path) -> None:
    path = write_segment(make_topic(tmp_path, "t") / "0", 0, rows(2))
    path.write_bytes(path.read_bytes() + struct.pack(">II", 0, 0) + frame(rows(1)[0]))
    with pytest.raises(Exception, match="the record at offset 2"):
        read(spark, tmp_path).collect()


def test_a_published_segment_is_never_torn(spark: SparkSession, tmp_path: Path) -> None:
    folder = make_topic(tmp_path, "t") / "0"
    whole = write_segment(folder, 0, rows(3))
    (folder / "00000000000000000000-job-000000000000-00000.seg").write_bytes(whole.read_bytes()[:-3])
    whole.unlink()
    with pytest.raises(Exception, match=r"MS-JOURNAL-003.*offset 2"):
        read(spark, tmp_path).collect()


def test_missing_records_between_segments(spark: SparkSession, tmp_path: Path) -> None:
    folder = make_topic(tmp_path, "t") / "0"
    write_segment(folder, 0, rows(3))
    write_segment(folder, 4, rows(1, 4))
    with pytest.raises(Exception, match=r"MS-JOURNAL-003.*offset 3"):
        read(spark, tmp_path).collect()


def test_a_torn_producer_segment_before_published_ones(spark: SparkSession, tmp_path: Path) -> None:
    folder = make_topic(tmp_path, "t") / "0"
    path = write_segment(folder, 0, rows(3))
    path.write_bytes(path.read_bytes() + frame(rows(1)[0])[:9])
    (folder / "00000000000000000003-job-000000000000-00000.seg").write_bytes(header() + frame(rows(1, 3)[0]))
    assert values(read(spark, tmp_path)) == names(4)
