"""Real time: rows come and go while the epoch runs."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.journal_spark.segment_bytes import Record, append, make_topic, read_segment, write_segment
from tests.journal_spark.sink_run import contents, decisions, recovered, sink, start, stream

pytestmark = pytest.mark.slow


def wait_until(done: Callable[[], bool], seconds: float = 40) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "took too long"
        time.sleep(0.01)


class UncommittedReader(threading.Thread):
    """Notes when each row of `open/` was first seen."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder = folder
        self.seen: dict[bytes, float] = {}
        self.over = threading.Event()

    def run(self) -> None:
        sizes: dict[Path, int] = {}
        while not self.over.wait(0.001):
            for path in self.folder.glob("*/open/*.seg"):
                try:
                    if path.stat().st_size in (0, sizes.get(path)):
                        continue
                    sizes[path] = path.stat().st_size
                    records = read_segment(path)
                    # After the read: a row that came while reading must not count as seen before it.
                    now = time.time()
                    for record in records:
                        self.seen.setdefault(record.value or b"", now)
                except FileNotFoundError:
                    continue


def test_rows_are_seen_at_once_and_committed_once(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = make_topic(tmp_path, "in", 2)
    segments = [write_segment(source / str(p), 0, []) for p in range(2)]
    out = make_topic(tmp_path, "out", 2)
    sinks = json.dumps([sink(tmp_path, "out")])
    df = stream(spark, tmp_path, "in").selectExpr("0 sink", "key", "value", "1L w")
    reader = UncommittedReader(out)
    reader.start()
    sent = []
    with recovered(spark, sinks, tmp_path / "c"):
        query = start(df, sinks, tmp_path / "c", realTime="2 seconds")
        append(segments[0], Record(b"warm", b"up"))
        wait_until(lambda: b"up" in reader.seen)
        for i in range(400):
            if i == 200:
                segments[1] = write_segment(source / "1", 100, [])
            now = time.time()
            sent.append(str(now).encode())
            append(segments[i % 2], Record(str(i).encode(), sent[-1]))
            time.sleep(0.02)
        wait_until(lambda: all(value in reader.seen for value in sent))
        wait_until(lambda: len(contents(tmp_path, "out")) == 401)
        query.stop()
    reader.over.set()
    assert sorted(value or b"" for _, value in contents(tmp_path, "out")) == sorted([b"up", *sent])
    delays = sorted(1000 * (reader.seen[value] - float(value)) for value in sent)
    with capsys.disabled():
        print(
            f"\nreal time, uncommitted: p50 {statistics.median(delays):.1f} ms, p99 {delays[-4]:.1f} ms",
            end=" ",
        )


def test_it_goes_on_where_it_was_stopped(spark: SparkSession, tmp_path: Path) -> None:
    segment = write_segment(make_topic(tmp_path, "in") / "0", 0, [Record(b"k", str(i).encode()) for i in range(100)])
    make_topic(tmp_path, "out")
    sinks = json.dumps([sink(tmp_path, "out")])
    df = stream(spark, tmp_path, "in").selectExpr("0 sink", "key", "value", "1L w")
    for round_ in range(1, 4):
        with recovered(spark, sinks, tmp_path / "c"):
            query = start(df, sinks, tmp_path / "c", realTime="1 second")
            wait_until(lambda: len(contents(tmp_path, "out")) >= 100 * round_)  # noqa: B023
            append(segment, *(Record(b"k", str(i).encode()) for i in range(100 * round_, 100 * round_ + 100)))
            query.stop()
        assert all("sinks" not in found for found in decisions(tmp_path / "c"))
    with recovered(spark, sinks, tmp_path / "c"):
        query = start(df, sinks, tmp_path / "c", realTime="1 second")
        wait_until(lambda: len(contents(tmp_path, "out")) >= 400)
        query.stop()
    assert [value for _, value in contents(tmp_path, "out")] == [str(i).encode() for i in range(400)]


def test_a_delete_that_comes_alone_is_not_held_back(spark: SparkSession, tmp_path: Path) -> None:
    segment = write_segment(make_topic(tmp_path, "in") / "0", 0, [])
    out = make_topic(tmp_path, "out")
    sinks = json.dumps([sink(tmp_path, "out", "upsert")])
    df = stream(spark, tmp_path, "in").selectExpr("0 sink", "key", "value", "CAST(CAST(value AS STRING) AS BIGINT) w")
    with recovered(spark, sinks, tmp_path / "c"):
        query = start(df, sinks, tmp_path / "c", realTime="10 seconds")

        def uncommitted() -> list[tuple[bytes | None, bytes | None]]:
            return [
                (r.key, r.value) for path in out.glob("0/open/*.seg") if path.stat().st_size for r in read_segment(path)
            ]

        append(segment, Record(b"a", b"1"))
        wait_until(lambda: len(uncommitted()) == 1)
        at = time.monotonic()
        append(segment, Record(b"a", b"-1"))
        wait_until(lambda: len(uncommitted()) == 2, 5)
        assert time.monotonic() - at < 5
        assert uncommitted() == [(b"a", b"1"), (b"a", None)]
        query.stop()


def test_corruption_stops_the_query(spark: SparkSession, tmp_path: Path) -> None:
    segment = write_segment(make_topic(tmp_path, "in") / "0", 0, [Record(b"k", b"0"), Record(b"k", b"1")])
    data = bytearray(segment.read_bytes())
    data[16 + 8 + 9] ^= 1
    segment.write_bytes(data)
    make_topic(tmp_path, "out")
    sinks = json.dumps([sink(tmp_path, "out")])
    df = stream(spark, tmp_path, "in").selectExpr("0 sink", "key", "value", "1L w")
    with recovered(spark, sinks, tmp_path / "c"):
        query = start(df, sinks, tmp_path / "c", realTime="2 seconds")
        with pytest.raises(Exception, match=r"MS-JOURNAL-003.*offset 0"):
            query.awaitTermination(30)
