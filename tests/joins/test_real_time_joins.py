"""Joins that wait for partners, in real time: rows and timers come mixed, and the result is the same."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
TOPICS = ("searches", "clicks", "found", "hours")


def waiting(path: str, checkpoint: Path) -> ms.Job:
    job = ms.Job("waiting", checkpoint=str(checkpoint), parallelism=1)
    schema = "user STRING, name STRING, at TIMESTAMP"
    searches = job.stream(journal.source("searches", path=path), schema, time="at").as_("s")
    clicks = job.stream(journal.source("clicks", path=path), schema, time="at").as_("c")
    on = "s.user = c.user AND c.at BETWEEN s.at AND s.at + INTERVAL 10 MINUTES"
    found = searches.join(clicks, on=on, how="left").select("s.name", "s.at", link="c.name")
    found.to(journal.sink("found", path=path))
    assert isinstance(found, ms.Stream)
    hours = found.window(ms.tumbling("1 hour")).agg(n="count(*)", links="count(link)")
    hours.final().to(journal.sink("hours", path=path))
    return job


def send(path: str, topic: str, *rows: tuple[int, str, str]) -> None:
    with journal.producer(path, topic) as producer:
        for hour, user, name in rows:
            producer.send({"user": user, "name": name, "at": f"2026-01-01T{hour:02d}:00:00Z"})


def rows(path: str, topic: str) -> list[dict[str, Any]]:
    return [record.json() for record in journal.read(path, topic)]


def test_what_waited_is_counted_once(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "journal")
    for topic in TOPICS:
        journal.create(path, topic, 1)
    send(path, "searches", (0, "ann", "a"), (0, "bob", "b"))
    send(path, "clicks", (0, "ann", "x"))
    run = waiting(path, tmp_path / "checkpoint").start(ms.real_time("300 ms"), spark=spark)
    try:
        for hour in range(5, 20):
            # Event time leaps: the search of bob, and the hour that it belongs to, are over at once.
            send(path, "searches", (hour, "zoe", "z"))
            send(path, "clicks", (hour, "zoe", "y"))
            until = time.monotonic() + 2
            while time.monotonic() < until and not rows(path, "hours"):
                run.poll(0.1)
    finally:
        run.stop()
    named = sorted((row["name"], row.get("link")) for row in rows(path, "found") if row["name"] != "z")
    assert named == [("a", "x"), ("b", None)]
    first = [row for row in rows(path, "hours") if row["window_start"].startswith("2026-01-01T00")]
    assert [(row["n"], row["links"]) for row in first] == [(2, 1)]
    assert set(run.late().values()) == {0}
