"""In real time the last result of a window comes when the watermark has passed it, not with the next epoch."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal
from millstream.testing.epochs import committed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
PATIENCE = 60


def counting(path: str, checkpoint: Path) -> ms.Job:
    job = ms.Job("counting", checkpoint=str(checkpoint), parallelism=2)
    rows = job.stream(journal.source("rows", path=path), "k INT, at TIMESTAMP", time="at")
    minutes = rows.window(ms.tumbling("1 minute")).group_by("k").agg(n="count(*)").final(time="window_time")
    minutes.window(ms.tumbling("1 hour")).agg(n="sum(n)").final().to(journal.sink("hours", path=path))
    minutes.to(journal.sink("minutes", path=path))
    return job


def test_windows_close_between_two_checkpoints(spark: SparkSession, tmp_path: Path) -> None:
    """No epoch ends while the test runs: readers of uncommitted rows see what two stages of windows say."""
    path = str(tmp_path / "journal")
    for topic in ("rows", "minutes", "hours"):
        journal.create(path, topic, 1)
    run = counting(path, tmp_path / "checkpoint").start(ms.real_time("10 minutes"), spark=spark)
    try:
        with journal.producer(path, "rows") as producer:
            for second in (0, 10, 70, 80, 90):
                producer.send({"k": 1, "at": f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z"})
            producer.send({"k": 2, "at": "2026-01-01T05:00:00Z"})
        seen: dict[str, list[int]] = {}
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and seen != {"minutes": [2, 3], "hours": [5]}:
            run.poll(0.05)
            for topic in ("minutes", "hours"):
                found = journal.read(path, topic, isolation="read_uncommitted")
                seen[topic] = sorted(record.json()["n"] for record in found)
        assert seen == {"minutes": [2, 3], "hours": [5]}
        assert committed(tmp_path / "checkpoint") == {}
    finally:
        run.stop()


def doors_and_lamps(path: str, checkpoint: Path) -> ms.Job:
    job = ms.Job("house", checkpoint=str(checkpoint), parallelism=1)
    sources = [
        job.stream(journal.source(topic, path=path), "at TIMESTAMP", time="at", idle_after="500 ms")
        for topic in ("doors", "lamps")
    ]
    rooms = sources[0].union(sources[1]).window(ms.tumbling("1 minute")).agg(n="count(*)")
    rooms.final().to(journal.sink("closed", path=path))
    return job


def test_idle_sources_do_not_hold_windows_back_until_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    """First one is idle, and time moves with the other; then both are, and it moves with the clock."""
    path = str(tmp_path / "journal")
    for topic in ("doors", "lamps", "closed"):
        journal.create(path, topic, 1)
    run = doors_and_lamps(path, tmp_path / "checkpoint").start(ms.real_time("10 minutes"), spark=spark)

    def closed() -> list[int]:
        return [record.json()["n"] for record in journal.read(path, "closed", isolation="read_uncommitted")]

    def until_closed(wanted: list[int]) -> None:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and closed() != wanted:
            run.poll(0.05)
        assert closed() == wanted

    try:
        with journal.producer(path, "doors") as doors, journal.producer(path, "lamps") as lamps:
            lamps.send({"at": "2026-01-01T00:00:01Z"})
            doors.send({"at": "2026-01-01T00:00:02Z"})
            doors.send({"at": "2026-01-01T00:01:59Z"})
        until_closed([2])
        until_closed([2, 1])
        assert committed(tmp_path / "checkpoint") == {}
    finally:
        run.stop()
