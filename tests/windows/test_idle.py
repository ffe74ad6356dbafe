"""The slowest source holds time back, unless it is idle; if all are, time moves with the clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.progress import Progress
    from millstream.runtime.run import Run

MODES: dict[str, ms.Mode] = {"micro_batch": ms.micro_batch("100 ms"), "real_time": ms.real_time("300 ms")}
SCHEMA = "at TIMESTAMP, room STRING"


def at(minute: int, second: float = 0) -> str:
    return f"2026-01-01T00:{minute:02d}:{second:09.6f}Z"


def send(path: str, topic: str, *moments: str) -> None:
    with journal.producer(path, topic) as producer:
        for moment in moments:
            producer.send({"at": moment, "room": topic})


def closed(path: str) -> list[Any]:
    return [record.json() for record in journal.read(path, "closed")]


def wait_until_closed(run: Run, path: str, count: int, seconds: float = 60) -> list[Any]:
    until = time.monotonic() + seconds
    while len(closed(path)) < count and time.monotonic() < until:
        run.poll(0.1)
    return closed(path)


def wait_for_watermark(run: Run, moment: datetime, seconds: float = 60) -> Progress:
    """The first epoch that ends with this watermark."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        progress = run.progress()
        if progress is not None and progress.watermark == moment:
            return progress
        run.poll(0.1)
    raise AssertionError(f"time did not come to {moment}, but to {run.progress()}")


def house(folder: Path, idle_after: str | None, checkpoint: str) -> ms.Job:
    job = ms.Job("house", checkpoint=str(folder / checkpoint))
    path = str(folder / "journal")
    doors = job.stream(journal.source("doors", path=path), SCHEMA, time="at")
    lamps = job.stream(journal.source("lamps", path=path), SCHEMA, time="at", idle_after=idle_after)
    rooms = doors.union(lamps).window(ms.tumbling("1 minute")).agg(n="count(*)")
    rooms.final().to(journal.sink("closed", path=path))
    return job


@pytest.mark.slow
def test_a_source_without_new_rows_is_as_far_after_a_restart_as_before(tmp_path: Path, spark: SparkSession) -> None:
    path = str(tmp_path / "journal")
    for topic in ("doors", "lamps", "closed"):
        journal.create(path, topic, 1)
    send(path, "doors", at(0, 2), at(5))
    send(path, "lamps", at(0, 1))
    house(tmp_path, None, "c").run(ms.available_now(), spark=spark)
    assert closed(path) == []
    for moment in (at(3), at(9)):
        send(path, "lamps", moment)
        house(tmp_path, None, "c").run(ms.available_now(), spark=spark)
    assert [(row["window_start"][14:16], row["n"]) for row in closed(path)] == [("00", 2), ("03", 1)]


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_time_goes_on_without_a_source_that_is_idle(mode: str, tmp_path: Path, spark: SparkSession) -> None:
    path = str(tmp_path / "journal")
    for topic in ("doors", "lamps", "closed"):
        journal.create(path, topic, 1)
    send(path, "doors", at(0, 2), at(5))
    send(path, "lamps", at(0, 1))
    waiting = house(tmp_path, None, "micro_batch")
    assert "time: the slowest of doors, lamps holds it back" in waiting.explain()
    run = waiting.start(ms.available_now(), spark=spark)
    run.wait()
    progress = run.progress()
    assert progress is not None
    assert (progress.held_back_by, progress.watermark) == ("lamps", datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC))
    assert closed(path) == []

    send(path, "doors", at(5, 1))
    run = house(tmp_path, "500 ms", mode).start(MODES[mode], spark=spark)
    assert wait_until_closed(run, path, 1) == [{"window_start": at(0), "window_end": at(1), "n": 2}]
    progress = wait_for_watermark(run, datetime(2026, 1, 1, 0, 5, 1, tzinfo=UTC))
    run.stop()
    assert progress.held_back_by == "doors"


class Alone(ms.Process):
    """Says so a second after a row."""

    output = "at TIMESTAMP, room STRING"

    def on_row(self, key: str, row: Any) -> None:
        self.set_timer(row.at + timedelta(seconds=1))

    def on_timer(self, key: str, at: datetime) -> Iterator[Any]:
        yield {"at": at, "room": key}


@pytest.mark.slow
@pytest.mark.parametrize("step", ["join", "process"])
def test_what_waits_goes_on_when_all_sources_are_idle(step: str, tmp_path: Path, spark: SparkSession) -> None:
    path = str(tmp_path / "journal")
    for topic in ("doors", "lamps", "closed"):
        journal.create(path, topic, 1)
    job = ms.Job("house", checkpoint=str(tmp_path / "checkpoint"))
    doors = job.stream(journal.source("doors", path=path), SCHEMA, time="at", idle_after="300 ms")
    lamps = job.stream(journal.source("lamps", path=path), SCHEMA, time="at", idle_after="300 ms")
    near = "d.room = l.room AND l.at BETWEEN d.at AND d.at + INTERVAL 1 SECOND"
    dark = doors.as_("d").join(lamps.as_("l"), on=near, how="left").select("d.at", "d.room")
    waiting = dark if step == "join" else doors.union(lamps).key_by("room").process(Alone)
    waiting.where("room = 'doors'").to(journal.sink("closed", path=path))
    send(path, "doors", at(0, 1))
    send(path, "lamps", at(0, 1))
    run = job.start(MODES["micro_batch"], spark=spark)
    assert [row["room"] for row in wait_until_closed(run, path, 1)] == ["doors"]
    run.stop()


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("clock", ["event", "processing"])
def test_windows_close_when_all_sources_are_idle(mode: str, clock: str, tmp_path: Path, spark: SparkSession) -> None:
    path = str(tmp_path / "journal")
    for topic in ("doors", "closed"):
        journal.create(path, topic, 1)
    job = ms.Job("doors", checkpoint=str(tmp_path / "checkpoint"))
    timed: dict[str, Any] = (
        {"time": "at", "idle_after": "300 ms"} if clock == "event" else {"time": ms.processing_time()}
    )
    doors = job.stream(journal.source("doors", path=path), SCHEMA, **timed)
    doors.window(ms.tumbling("1 second")).agg(n="count(*)").final().to(journal.sink("closed", path=path))
    send(path, "doors", at(0, 0.2))
    run = job.start(MODES[mode], spark=spark)
    assert [row["n"] for row in wait_until_closed(run, path, 1)] == [1]
    progress = run.progress()
    run.stop()
    assert progress is not None
    assert progress.held_back_by is None
