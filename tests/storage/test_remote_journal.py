"""The journal in Python on HDFS and S3."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import millstream as ms
from millstream import journal
from millstream.journal.topics import drop
from servers.s3 import S3, settings
from servers.s3_proxy import S3Proxy
from tests.storage.test_jobs import counting, send, wait

pytestmark = pytest.mark.server
Refused = ms.MillstreamError


def read(path: str, **how: object) -> list[tuple[int, int | None, bytes | None]]:
    return [(r.partition, r.offset, r.value) for r in journal.read(path, "t", **how)]  # type: ignore[arg-type]


def test_topics(elsewhere: str) -> None:
    journal.create(elsewhere, "t", 2)
    journal.create(elsewhere, "other")
    assert journal.topics(elsewhere) == ["other", "t"]
    with pytest.raises(Refused, match="MS-JOURNAL-002"):
        journal.create(elsewhere, "t", 2)
    with pytest.raises(Refused, match=r"MS-JOURNAL-001.*\n.*topics: other, t"):
        journal.producer(elsewhere, "u")
    drop(elsewhere, "t")
    assert journal.topics(elsewhere) == ["other"]


def test_each_flush_is_a_segment(elsewhere: str) -> None:
    journal.create(elsewhere, "t", 2)
    with journal.producer(elsewhere, "t") as out:
        assert out.send("a", partition=0, headers=[("h", "x")], key="k") == (0, 0)
        assert read(elsewhere) == []
        out.flush()
        out.flush()
        assert out.send("b", partition=0) == (0, 1)
        assert out.send("c", partition=1) == (1, 0)
    with journal.producer(elsewhere, "t") as out:
        assert out.send("d", partition=0) == (0, 2)
    assert sorted(read(elsewhere)) == [(0, 0, b"a"), (0, 1, b"b"), (0, 2, b"d"), (1, 0, b"c")]
    assert sorted(read(elsewhere, start={0: 2, 1: 0})) == [(0, 2, b"d"), (1, 0, b"c")]
    assert next(journal.read(elsewhere, "t", partitions=[0])).headers == (("h", b"x"),)
    first, second = journal.describe(elsewhere, "t").partitions
    assert (first.segments, first.end, first.writer, second.end) == (3, 3, None, 1)
    with pytest.raises(Refused, match="MS-JOURNAL-004"):
        read(elsewhere, start={0: 7})


def test_a_reader_follows(elsewhere: str) -> None:
    journal.create(elsewhere, "t")
    with journal.Reader(elsewhere, "t", start="latest") as reader, journal.producer(elsewhere, "t") as out:
        assert reader.poll() == []
        for value in (b"a", b"b"):
            out.send(value)
            out.flush()
            assert [record.value for record in reader.poll(60)] == [value]
        assert reader.positions() == {0: 2}


def test_of_two_writers_one_is_refused(elsewhere: str) -> None:
    journal.create(elsewhere, "t")
    late, quick = (journal.producer(elsewhere, "t") for _ in range(2))
    late.send("late")
    quick.send("quick")
    quick.close()
    for _ in range(2):
        with pytest.raises(Refused, match="MS-JOURNAL-005"):
            late.flush()
    assert read(elsewhere) == [(0, 0, b"quick")]


def test_a_flush_whose_answer_is_lost(s3_proxy: S3Proxy, bucket_behind_proxy: str, spark: SparkSession) -> None:
    path = f"{bucket_behind_proxy}/journal"
    journal.create(path, "t")
    with journal.producer(path, "t") as out:
        out.send("a")
        s3_proxy.lose("PUT .*seg")
        out.flush()
        assert s3_proxy.kinds("seg")["PUT"] == 2
        out.send("b")
    assert read(path) == [(0, 0, b"a"), (0, 1, b"b")]


def test_a_flush_that_fails_is_tried_again(s3_proxy: S3Proxy, bucket_behind_proxy: str, spark: SparkSession) -> None:
    """What was sent meanwhile comes after it."""
    path = f"{bucket_behind_proxy}/journal"
    journal.create(path, "t")
    with journal.producer(path, "t") as out:
        out.send("a")
        s3_proxy.answer(403, "PUT .*seg", times=1)
        with pytest.raises(Refused, match="MS-STORAGE-001"):
            out.flush()
        out.send("b")
    assert read(path) == [(0, 0, b"a"), (0, 1, b"b")]
    assert journal.describe(path, "t").partitions[0].segments == 2


def test_a_secret_is_not_shown(s3: S3, bucket: str, spark: SparkSession) -> None:
    """Not by an error, whose text comes from the store's client."""
    name, secret = bucket.removeprefix("s3a://") + "-wrong", "a-secret-that-is-wrong"
    s3.make_bucket(name)
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    for key, value in (settings(s3.endpoint, name) | {f"fs.s3a.bucket.{name}.secret.key": secret}).items():
        hadoop.set(key, value)
    with pytest.raises(Refused, match="MS-STORAGE-001") as refused:
        journal.create(f"s3a://{name}/journal", "t")
    assert secret not in "".join(map(repr, (refused.value.text(), refused.value.__cause__)))
    job = ms.Job("copy", checkpoint=f"s3a://{name}/checkpoint")
    source = journal.source("t", path=f"s3a://{name}/journal")
    job.stream(source, schema="n INT").to(journal.sink("u", path=f"s3a://{name}/journal"))
    with pytest.raises(Refused) as refused:
        job.run(ms.available_now(), spark=spark)
    assert secret not in refused.value.text()


def test_an_object_store_has_no_uncommitted_records(bucket: str) -> None:
    journal.create(bucket, "t")
    with pytest.raises(Refused) as refused:
        journal.Reader(bucket, "t", isolation="read_uncommitted")
    assert refused.value.code == "MS-JOURNAL-014"


@pytest.mark.slow
def test_uncommitted_records_on_hdfs(hdfs_folder: str, spark: SparkSession) -> None:
    """They are seen before their epoch is committed, and not again when it is."""
    folder, path = hdfs_folder, f"{hdfs_folder}/journal"
    for topic in ("numbers", "even", "thirds"):
        journal.create(path, topic)
    run = counting(folder).start(ms.real_time("5 seconds"), spark=spark)
    try:
        with journal.Reader(path, "even", isolation="read_uncommitted") as reader:
            seen: list[journal.Record] = []

            def all_seen(n: int) -> bool:
                seen.extend(reader.poll(0.1))
                return len(seen) >= n

            send(folder, range(5))
            wait(run, lambda: all_seen(5))
            assert {record.committed for record in seen} == {False}
            wait(run, lambda: len(list(journal.read(path, "even"))) == 5)
            send(folder, range(5, 10))
            wait(run, lambda: all_seen(10))
            assert sorted(record.json()["n"] for record in seen) == list(range(10))
    finally:
        run.stop()
