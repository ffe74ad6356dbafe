"""Several sinks in one query: what the weights mean, two phases, locks, a plain batch."""

from __future__ import annotations

import fcntl
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.journal_spark.segment_bytes import Record, append, frame, make_topic, read_topic, write_segment
from tests.journal_spark.sink_run import contents, decisions, paths, recovered, sink, start, stream


def tagged(spark: SparkSession, rows: list[tuple[int, str | None, str | None, int]]) -> DataFrame:
    df = spark.createDataFrame(rows, "sink INT, key STRING, value STRING, w BIGINT").coalesce(1)
    return df.selectExpr("sink", "CAST(key AS BINARY) key", "CAST(value AS BINARY) value", "w")


Row = tuple[int, str | None, str | None, int]


def recovery(spark: SparkSession) -> Any:
    assert spark._jvm is not None
    return spark._jvm.millstream.sink.Recovery


def write_batch(spark: SparkSession, rows: list[Row], *sinks: Any) -> None:
    writer = tagged(spark, rows).write.format("millstream-sinks").mode("append")
    writer.option("sinks", json.dumps(sinks)).save()


def test_append_writes_a_row_as_often_as_its_weight(spark: SparkSession, tmp_path: Path) -> None:
    make_topic(tmp_path, "t")
    write_batch(spark, [(0, "a", "1", 1), (0, "b", None, 2), (0, None, "3", 1)], sink(tmp_path, "t"))
    assert contents(tmp_path, "t") == [(b"a", b"1"), (b"b", None), (b"b", None), (None, b"3")]


def test_append_refuses_to_take_back(spark: SparkSession, tmp_path: Path) -> None:
    make_topic(tmp_path, "t")
    with pytest.raises(Exception, match="MS-SINK-002") as error:
        write_batch(spark, [(0, "a", "1", 1), (0, "a", "1", -1)], sink(tmp_path, "t"))
    assert 'MS-SINK-002: sink "t" only appends and was handed a row with weight -1.' in str(error.value)
    assert contents(tmp_path, "t") == []
    assert list((tmp_path / "t" / "0" / "open").iterdir()) == []


def test_changelog_writes_what_it_is_handed(spark: SparkSession, tmp_path: Path) -> None:
    make_topic(tmp_path, "t")
    write_batch(spark, [(0, "a", "-1", -2), (0, "a", "+2", 1)], sink(tmp_path, "t", "changelog"))
    assert contents(tmp_path, "t") == [(b"a", b"-1"), (b"a", b"-1"), (b"a", b"+2")]


def test_upsert_drops_a_tombstone_that_is_replaced_at_once(spark: SparkSession, tmp_path: Path) -> None:
    make_topic(tmp_path, "t")
    rows: list[Row] = [
        (0, "a", "1", 1),
        *((0, "a", "1", -1), (0, "a", "2", 1)),
        *((0, "a", "2", -1), (0, "b", "1", 1)),
        *((0, "b", "1", -1), (0, "c", "1", -1)),
    ]
    write_batch(spark, rows, sink(tmp_path, "t", "upsert"))
    expected = [(b"a", b"1"), (b"a", b"2"), (b"a", None), (b"b", b"1"), (b"b", None), (b"c", None)]
    assert contents(tmp_path, "t") == expected


def test_keys_go_to_partitions_as_producers_send_them(spark: SparkSession, tmp_path: Path) -> None:
    make_topic(tmp_path, "t", 3)
    write_batch(spark, [(0, f"key{i}", "v", 1) for i in range(50)], sink(tmp_path, "t"))
    found = read_topic(tmp_path, "t")
    assert sum(len(records) for records in found.values()) == 50
    for partition, records in found.items():
        assert records
        assert all(zlib.crc32(record.key or b"") % 3 == partition for record in records)


def test_a_batch_needs_a_writer_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    make_topic(tmp_path, "t")
    write_batch(spark, [(0, "a", "1", 1)], sink(tmp_path, "t"))
    with pytest.raises(Exception, match="MS-SINK-004"):
        write_batch(spark, [(0, "a", "2", 1)], sink(tmp_path, "t"))
    write_batch(spark, [(0, "a", "2", 1)], sink(tmp_path, "t", writer="another"))
    assert contents(tmp_path, "t") == [(b"a", b"1"), (b"a", b"2")]


def test_a_topic_must_exist(spark: SparkSession, tmp_path: Path) -> None:
    make_topic(tmp_path, "there")
    with pytest.raises(Exception, match='MS-JOURNAL-001: topic "x" does not exist'):
        write_batch(spark, [(0, "a", "1", 1)], sink(tmp_path, "x"))


def test_several_sinks_in_one_query(spark: SparkSession, tmp_path: Path) -> None:
    source = make_topic(tmp_path, "in", 2)
    for partition in range(2):
        rows = [Record(f"{partition}.{i}".encode(), str(i).encode()) for i in range(20)]
        write_segment(source / str(partition), 0, rows)
    make_topic(tmp_path, "even", 2)
    make_topic(tmp_path, "all")
    sinks = json.dumps([sink(tmp_path, "even"), sink(tmp_path, "all", "changelog", "job_2")])
    df = stream(spark, tmp_path, "in", maxRowsPerEpoch="10").selectExpr(
        "explode(if(CAST(CAST(value AS STRING) AS INT) % 2 = 0, array(0, 1), array(1))) sink",
        "key",
        "value",
        "1L w",
    )
    with recovered(spark, sinks, tmp_path / "checkpoint"):
        start(df, sinks, tmp_path / "checkpoint", availableNow=True).awaitTermination(60)
    keys = sorted(f"{p}.{i}".encode() for p in range(2) for i in range(20))
    assert sorted(key or b"" for key, _ in contents(tmp_path, "all")) == keys
    assert len(contents(tmp_path, "even")) == 20
    assert all(int(value or b"") % 2 == 0 for _, value in contents(tmp_path, "even"))
    assert [found.get("sinks") for found in decisions(tmp_path / "checkpoint")] == [None, None]


def test_two_phases(spark: SparkSession, tmp_path: Path) -> None:
    """Without a publisher, epochs stay prepared; recovery publishes those that count, and throws the others away."""
    segment = write_segment(make_topic(tmp_path, "in") / "0", 0, [Record(b"k", b"0")])
    make_topic(tmp_path, "out")
    sinks = json.dumps([sink(tmp_path, "out")])
    checkpoint = tmp_path / "checkpoint"
    df = stream(spark, tmp_path, "in").selectExpr("0 sink", "key", "value", "1L w")
    with recovered(spark, sinks, checkpoint, publishing=False):
        for i in range(1, 3):
            start(df, sinks, checkpoint, availableNow=True).awaitTermination(60)
            append(segment, Record(b"k", str(i).encode()))
    made = decisions(checkpoint)
    assert [found.get("epoch") for found in made] == [None, 0, 1]
    files = made[2]["sinks"]["job_1"]["files"]
    assert [(file["partition"], file["records"]) for file in files] == [(0, 1)]
    assert contents(tmp_path, "out") == []

    # Killed before it was decided that epoch 1 counts.
    (checkpoint / "decisions" / "000000000002").unlink()
    for name in ("1", ".1.crc"):
        (checkpoint / "spark" / "commits" / name).unlink(missing_ok=True)
    recovery(spark).run(sinks, paths(checkpoint)).close()
    assert contents(tmp_path, "out") == [(b"k", b"0")]
    assert list((tmp_path / "out" / "0" / "open").iterdir()) == []

    with recovered(spark, sinks, checkpoint):
        start(df, sinks, checkpoint, availableNow=True).awaitTermination(60)
    assert contents(tmp_path, "out") == [(b"k", b"0"), (b"k", b"1"), (b"k", b"2")]


def test_an_epoch_that_counts_reaches_sparks_log(spark: SparkSession, tmp_path: Path) -> None:
    """Killed after the decision, before Spark's log was written: the next run writes it, and reads no row again."""
    write_segment(make_topic(tmp_path, "in") / "0", 0, [Record(b"k", b"0")])
    make_topic(tmp_path, "out")
    sinks = json.dumps([sink(tmp_path, "out")])
    commits = tmp_path / "c" / "spark" / "commits"
    df = stream(spark, tmp_path, "in").selectExpr("0 sink", "key", "value", "1L w")
    with recovered(spark, sinks, tmp_path / "c", publishing=False):
        start(df, sinks, tmp_path / "c", availableNow=True).awaitTermination(60)
    written = (commits / "0").read_bytes()
    (commits / "0").unlink()
    with recovered(spark, sinks, tmp_path / "c"):
        assert (commits / "0").read_bytes() == written
        start(df, sinks, tmp_path / "c", availableNow=True).awaitTermination(60)
    assert contents(tmp_path, "out") == [(b"k", b"0")]


def test_publishing_again_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    write_segment(make_topic(tmp_path, "in") / "0", 0, [Record(b"k", b"0")])
    make_topic(tmp_path, "out")
    sinks = json.dumps([sink(tmp_path, "out")])
    df = stream(spark, tmp_path, "in").selectExpr("0 sink", "key", "value", "1L w")
    with recovered(spark, sinks, tmp_path / "c", publishing=False):
        start(df, sinks, tmp_path / "c", availableNow=True).awaitTermination(60)
    decided = tmp_path / "c" / "decisions" / "000000000001"
    kept = decided.read_bytes()
    recovery(spark).run(sinks, paths(tmp_path / "c")).close()
    assert "sinks" not in json.loads(decided.read_text())
    decided.write_bytes(kept)
    recovery(spark).run(sinks, paths(tmp_path / "c")).close()
    assert contents(tmp_path, "out") == [(b"k", b"0")]


def test_a_sink_that_is_gone_with_rows_yet_to_be_published(spark: SparkSession, tmp_path: Path) -> None:
    write_segment(make_topic(tmp_path, "in") / "0", 0, [Record(b"k", b"0")])
    make_topic(tmp_path, "out")
    sinks = json.dumps([sink(tmp_path, "out")])
    df = stream(spark, tmp_path, "in").selectExpr("0 sink", "key", "value", "1L w")
    with recovered(spark, sinks, tmp_path / "c", publishing=False):
        start(df, sinks, tmp_path / "c", availableNow=True).awaitTermination(60)
    with pytest.raises(Exception, match="MS-SINK-008: epoch 0 has rows for sink job_1"):
        recovery(spark).run("[]", paths(tmp_path / "c"))
    recovery(spark).run(sinks, paths(tmp_path / "c")).close()
    assert contents(tmp_path, "out") == [(b"k", b"0")]
    recovery(spark).run("[]", paths(tmp_path / "c")).close()


def test_a_sink_follows_a_torn_producer(spark: SparkSession, tmp_path: Path) -> None:
    path = write_segment(make_topic(tmp_path, "t") / "0", 0, [Record(b"p", b"1")])
    whole = path.read_bytes()
    path.write_bytes(whole + frame(Record(b"p", b"2"))[:-2])
    write_batch(spark, [(0, "a", "1", 1)], sink(tmp_path, "t"))
    assert path.read_bytes() == whole
    assert contents(tmp_path, "t") == [(b"p", b"1"), (b"a", b"1")]


def test_one_writer_per_partition(spark: SparkSession, tmp_path: Path) -> None:
    make_topic(tmp_path, "t", 2)
    sinks = json.dumps([sink(tmp_path, "t"), sink(tmp_path, "t", writer="second")])
    recover = recovery(spark).run
    locks = recover(sinks, paths(tmp_path / "c"))
    refused = 'MS-JOURNAL-005: topic "t", partition 0 has another writer.'
    with pytest.raises(Exception, match="MS-JOURNAL-005") as error:
        recover(sinks, paths(tmp_path / "other"))
    assert refused in str(error.value)
    with pytest.raises(Exception, match="MS-CHECKPOINT-005: another run of this job"):
        recover("[]", paths(tmp_path / "c"))
    with (tmp_path / "t" / "1" / "lock").open("w") as file:
        with pytest.raises(OSError):
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locks.close()
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(Exception, match='MS-JOURNAL-005: topic "t", partition 1 has another writer'):
            recover(sinks, paths(tmp_path / "c"))
    recover(sinks, paths(tmp_path / "c")).close()


def test_a_failed_publication_fails_the_query(spark: SparkSession, tmp_path: Path) -> None:
    segment = write_segment(make_topic(tmp_path, "in") / "0", 0, [Record(b"k", b"0")])
    out = make_topic(tmp_path, "out")
    sinks = json.dumps([sink(tmp_path, "out")])
    df = stream(spark, tmp_path, "in").selectExpr("0 sink", "key", "value", "1L w")
    with recovered(spark, sinks, tmp_path / "c"):
        query = start(df, sinks, tmp_path / "c", processingTime="0 seconds")
        query.processAllAvailable()
        wait_for_publication(spark)
        published = next(iter((out / "0").glob("*.seg")))
        good = published.read_bytes()
        published.write_bytes(good + b"?")
        append(segment, Record(b"k", b"1"))
        query.processAllAvailable()
        wait_for_publication(spark)
        append(segment, Record(b"k", b"2"))
        with pytest.raises(Exception, match="MS-SINK-005"):
            query.awaitTermination(30)
        published.write_bytes(good)
    with recovered(spark, sinks, tmp_path / "c"):
        start(df, sinks, tmp_path / "c", availableNow=True).awaitTermination(60)
    assert [value for _, value in contents(tmp_path, "out")] == [b"0", b"1", b"2"]


def wait_for_publication(spark: SparkSession) -> None:
    """An epoch is published when Spark's listeners hear of it: when no event is left, publication was tried."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
