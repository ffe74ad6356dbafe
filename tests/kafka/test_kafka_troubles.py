"""Troubles: each has the answer that docs/kafka.md states, and none silently loses a record."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import kafka
from tests.kafka.broker import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
LARGE: dict[str, Any] = {"max.message.bytes": "8000000"}


class Copy:
    """A job that copies a topic: run as often as wanted, on one checkpoint."""

    def __init__(self, topics: Topics, folder: Path, spark: SparkSession) -> None:
        self.topics = topics
        self.checkpoint = str(folder / "checkpoint")
        self.spark = spark
        self.topic, self.out = topics.create("in", 1), topics.create("out", 1)

    def job(self, schema: str = "n INT", servers: kafka.Cluster | None = None, **options: Any) -> ms.Job:
        job = ms.Job("copy", checkpoint=self.checkpoint)
        source = kafka.source(self.topic, servers=servers, **options)
        job.stream(source, schema, name="in").to(kafka.sink(self.out, servers=servers))
        return job

    def run(self, schema: str = "n INT", mode: ms.Mode | None = None, **options: Any) -> Run:
        run = self.job(schema, **options).start(mode or ms.available_now(), spark=self.spark)
        try:
            while not run.poll(1):
                pass
        finally:
            run.stop()
        return run

    def fails(self, schema: str = "n INT", **options: Any) -> ms.MillstreamError:
        """The error that it ends with: one that says where, and what to do."""
        with pytest.raises(ms.MillstreamError) as caught:
            self.run(schema, **options)
        return caught.value

    def rows(self) -> list[Any]:
        return self.topics.rows(self.out)


@pytest.fixture
def copy(topics: Topics, tmp_path: Path, spark: SparkSession) -> Copy:
    return Copy(topics, tmp_path, spark)


def test_poison_and_schema_drift(topics: Topics, copy: Copy) -> None:
    bad = topics.create("bad", 1)
    topics.send(copy.topic, {"id": 1, "n": 1})
    copy.run("id INT, n INT")
    topics.send(copy.topic, {"id": 2, "n": 2, "added": 9}, {"id": 3}, {"id": 4, "n": "four"}, b"{", b"")
    topics.delete(copy.topic, "no value")

    error = copy.fails("id INT, n INT")
    assert error.code == "MS-DECODE-001"
    assert f'offset 3 of topic "{copy.topic}", partition 0' in error.message
    assert error.at is not None
    assert "dead_letter" in str(error.hint)
    assert copy.rows() == [{"id": 1, "n": 1}], "an epoch that failed shows nothing"

    # The same records, from where it was: what can be read is written, the rest goes to dead letters.
    copy.run("id INT, n INT", on_error="dead_letter", dead_letters=bad)
    assert copy.rows() == [{"id": 1, "n": 1}, {"id": 2, "n": 2}, {"id": 3, "n": None}]
    letters = topics.rows(bad)
    assert [letter["offset"] for letter in letters] == [3, 4, 5, 6]
    assert {letter["topic"] for letter in letters} == {copy.topic}

    topics.send(copy.topic, {"id": 5, "n": 5, "added": 10}, b"{")
    run = copy.run("id INT, n INT, added INT", on_error="skip")
    assert copy.rows()[3:] == [{"id": 5, "n": 5, "added": 10}]
    assert run.skipped() == {"in": 1}


def test_records_that_are_very_large(topics: Topics, tmp_path: Path, spark: SparkSession) -> None:
    """They are read; to write them, client and topic must allow it."""
    copy = Copy(topics, tmp_path, spark)
    copy.topic, small = topics.create("large", 1, **LARGE), copy.out
    topics.send(copy.topic, {"text": "x" * 3_000_000})
    error = copy.fails("text STRING")
    assert error.code == "MS-KAFKA-008"
    assert error.at is not None
    assert "max.request.size" in str(error.hint)
    wide = kafka.cluster(topics.servers, settings={"max.request.size": "8000000"})
    assert copy.fails("text STRING", servers=wide).code == "MS-KAFKA-008", "the topic does not allow it"
    topics.allow(small, **LARGE)
    copy.run("text STRING", servers=wide)
    assert [len(row["text"]) for row in copy.rows()] == [3_000_000]


def test_a_clock_that_goes_back(topics: Topics, tmp_path: Path, spark: SparkSession) -> None:
    """By the time that Kafka gives to records: what is too late for its window is not dropped unseen."""
    topic, out, late = topics.create("in", 1), topics.create("out", 1), topics.create("late", 1)

    def run() -> dict[str, int]:
        job = ms.Job("clock", checkpoint=str(tmp_path / "checkpoint"))
        source = kafka.source(topic, record={"sent": "timestamp"})
        rows = job.stream(source, "n INT", time="sent", lateness="1 minute", name="in")
        windows = rows.window(ms.tumbling("1 minute"))
        windows.agg(n="sum(n)").final().to(kafka.sink(out))
        windows.late().to(kafka.sink(late))
        started = job.start(ms.available_now(), spark=spark)
        started.wait()
        return started.late()

    def send(*minutes: float) -> None:
        for n, minute in enumerate(minutes):
            at = NOON + timedelta(minutes=minute)
            topics.send(topic, {"n": 1}, timestamp=round(at.timestamp() * 1000) + n)

    send(0, 0.5, 10)
    run()
    send(0.7, 10.1, 9.5, 20)
    assert sum(run().values()) == 1
    assert [row["n"] for row in topics.rows(late)] == [1]
    starts = {row["window_start"][11:16]: row["n"] for row in topics.rows(out)}
    assert starts == {"12:00": 2, "12:09": 1, "12:10": 2}


def test_empty_forgotten_deleted_and_created_again(topics: Topics, copy: Copy, tmp_path: Path) -> None:
    copy.run()
    assert copy.rows() == []
    topics.send(copy.topic, {"n": 0})
    copy.run()
    assert copy.rows() == [{"n": 0}]

    topics.send(copy.topic, {"n": 1}, {"n": 2})
    topics.forget(copy.topic)
    topics.send(copy.topic, {"n": 3})
    for mode in (ms.available_now(), ms.real_time("500 ms")):
        error = copy.fails(mode=mode)
        assert error.code == "MS-KAFKA-009"
        assert error.at is not None
        assert copy.topic in str(error.found)
        assert "on_loss" in str(error.hint)
    copy.run(on_loss="skip")
    assert copy.rows() == [{"n": 0}, {"n": 3}]

    topics.drop(copy.topic)
    assert copy.fails().code == "MS-KAFKA-004"
    # Created again, and already longer than the old one was: its offsets alone would not tell.
    topics.create("in", 1)
    topics.send(copy.topic, *({"n": 10 + n} for n in range(8)))
    error = copy.fails()
    assert error.code == "MS-SOURCE-007"
    assert "created again" in error.message
    copy.checkpoint = str(tmp_path / "other")
    copy.run()
    assert [row["n"] for row in copy.rows()] == [0, 3, *range(10, 18)]


def test_created_again_under_a_running_job(topics: Topics, copy: Copy, tmp_path: Path) -> None:
    """And already longer than the old one was: the job would continue in the middle of it."""
    begun, go_on = tmp_path / "begun", tmp_path / "go_on"

    def wait(row: dict[str, Any]) -> dict[str, Any]:
        begun.touch()
        while not go_on.exists():
            time.sleep(0.01)
        return row

    job = ms.Job("copy", checkpoint=copy.checkpoint)
    rows = job.stream(kafka.source(copy.topic), "n INT", name="in")
    rows.map(wait, "n INT").to(kafka.sink(copy.out))
    topics.send(copy.topic, {"n": 0})
    run = job.start(ms.micro_batch("0 seconds"), spark=copy.spark)
    try:
        while not begun.exists():
            assert not run.poll(0.05)
        topics.drop(copy.topic)
        topics.create("in", 1)
        topics.send(copy.topic, *({"n": 10 + n} for n in range(8)))
        go_on.touch()
        with pytest.raises(ms.MillstreamError) as caught:
            run.wait()
    finally:
        go_on.touch()
        run.stop()
    assert caught.value.code == "MS-SOURCE-007"
    assert copy.topic in caught.value.message
    assert caught.value.at is not None


def test_epochs_that_last_longer_than_their_transactions(copy: Copy) -> None:
    job = ms.Job("long", checkpoint=copy.checkpoint)
    job.stream(kafka.source(copy.topic), "n INT", name="in").to(kafka.sink(copy.out, transaction_timeout="1 minute"))
    with pytest.raises(ms.MillstreamError) as caught:
        job.run(ms.real_time("1 minute"), spark=copy.spark)
    assert caught.value.code == "MS-RUN-010"
    assert caught.value.at is not None
