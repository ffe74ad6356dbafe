"""What the watermark has closed comes out after a crash, without waiting for new rows.

A run that is killed right after the commit of its last rows leaves the epoch to the next one in which what these rows
end comes out.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.spark.memory import without_empty_epochs
from millstream.testing.epochs import committed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "at TIMESTAMP, room STRING"
ENDLESS: dict[str, ms.Mode] = {"micro-batch": ms.micro_batch("100 ms"), "real time": ms.real_time("300 ms")}


def at(minute: int, second: int = 0) -> str:
    return f"2026-01-01T00:{minute:02d}:{second:02d}.000000Z"


class House:
    """Two topics of rows, and one that the job writes."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "journal")
        self.checkpoint = folder / "checkpoint"
        for topic in ("doors", "lamps", "closed"):
            journal.create(self.path, topic, 1)

    def send(self, topic: str, *moments: str) -> None:
        with journal.producer(self.path, topic) as producer:
            for moment in moments:
                producer.send({"at": moment, "room": topic})

    def stream(
        self, job: ms.Job, topic: str, idle_after: str | None = None, rows_per_epoch: int | None = None
    ) -> ms.Stream:
        source = journal.source(topic, path=self.path, max_rows_per_epoch=rows_per_epoch)
        return job.stream(source, SCHEMA, time="at", idle_after=idle_after)

    def visits(self, rows_per_epoch: int | None = None) -> ms.Job:
        job = ms.Job("visits", checkpoint=str(self.checkpoint))
        doors = self.stream(job, "doors", rows_per_epoch=rows_per_epoch)
        visits = doors.window(ms.session("1 minute")).group_by("room").agg(n="count(*)")
        visits.final().to(journal.sink("closed", path=self.path))
        return job

    def minutes(self, idle_after: str | None = None) -> ms.Job:
        job = ms.Job("minutes", checkpoint=str(self.checkpoint))
        both = self.stream(job, "doors").union(self.stream(job, "lamps", idle_after))
        minutes = both.window(ms.tumbling("1 minute")).agg(n="count(*)").final(time="window_time")
        hours = minutes.window(ms.tumbling("2 minutes")).agg(n="sum(n)")
        hours.final().to(journal.sink("closed", path=self.path))
        return job

    def closed(self) -> list[Any]:
        return [record.json()["n"] for record in journal.read(self.path, "closed")]

    def epochs(self) -> int:
        return len(committed(self.checkpoint))

    def wait_for(self, job: ms.Job, count: int, mode: ms.Mode, spark: SparkSession, seconds: float = 60) -> None:
        run = job.start(mode, spark=spark)
        until = time.monotonic() + seconds
        while len(self.closed()) < count and time.monotonic() < until:
            run.poll(0.1)
        run.stop()


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_sessions_close_when_a_run_finds_nothing_new(house: House, spark: SparkSession) -> None:
    """Once: the run after that finds nothing to do."""
    house.send("doors", at(0), at(0, 30), *(at(5 * n) for n in range(1, 7)))
    with without_empty_epochs(spark):
        house.visits().run(ms.available_now(), spark=spark)
    assert (house.closed(), house.epochs()) == ([], 1)
    for _ in range(2):
        house.visits().run(ms.available_now(), spark=spark)
        assert (house.closed(), house.epochs()) == ([2, 1, 1, 1, 1, 1], 2)


@pytest.mark.slow
def test_rows_that_came_meanwhile_are_in_the_same_epoch(tmp_path: Path, spark: SparkSession) -> None:
    """As in a run that goes on: no row is late because of a crash."""
    straight, killed = House(tmp_path / "straight"), House(tmp_path / "killed")
    for house in (straight, killed):
        house.send("doors", at(0), at(9), at(10))
    with without_empty_epochs(spark):
        killed.visits().run(ms.available_now(), spark=spark)
    for house in (straight, killed):
        house.send("doors", at(9, 30), at(12), at(14))
        house.visits(rows_per_epoch=3).run(ms.available_now(), spark=spark)
    assert killed.closed() == straight.closed() == [1, 3, 1]
    assert killed.epochs() == straight.epochs() == 3


@pytest.mark.slow
def test_windows_of_windows_close_behind_the_slower_of_two_sources(house: House, spark: SparkSession) -> None:
    house.send("doors", at(0, 2), at(1, 1), at(9))
    house.send("lamps", at(0, 1), at(7))
    with without_empty_epochs(spark):
        house.minutes().run(ms.available_now(), spark=spark)
    assert house.closed() == []
    house.minutes().run(ms.available_now(), spark=spark)
    assert house.closed() == [3]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ENDLESS)
def test_sessions_close_in_a_run_that_rests(mode: str, house: House, spark: SparkSession) -> None:
    house.send("doors", at(0), at(5))
    with without_empty_epochs(spark):
        house.visits().run(ms.available_now(), spark=spark)
    house.wait_for(house.visits(), 1, ENDLESS[mode], spark)
    assert house.closed() == [1]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ENDLESS)
def test_an_idle_source_is_left_out_after_a_restart(mode: str, house: House, spark: SparkSession) -> None:
    """No more rows come, and yet time moves: the sources are as far as they were."""
    house.send("doors", at(0, 2), at(1, 1), at(9))
    house.send("lamps", at(0, 1))
    house.minutes().run(ms.available_now(), spark=spark)
    assert house.closed() == []
    house.wait_for(house.minutes(idle_after="300 ms"), 1, ENDLESS[mode], spark)
    assert house.closed() == [3]


@pytest.mark.slow
def test_windows_close_with_the_clock_after_a_restart(house: House, spark: SparkSession) -> None:
    """No source has rows: it is as if the job had not been stopped, but for the time that it was."""

    def seconds() -> ms.Job:
        job = ms.Job("seconds", checkpoint=str(house.checkpoint))
        doors = house.stream(job, "doors", idle_after="300 ms")
        doors.window(ms.tumbling("1 second")).agg(n="count(*)").final().to(journal.sink("closed", path=house.path))
        return job

    house.send("doors", at(0, 2))
    seconds().run(ms.available_now(), spark=spark)
    assert house.closed() == []
    house.wait_for(seconds(), 1, ENDLESS["micro-batch"], spark)
    assert house.closed() == [1]
