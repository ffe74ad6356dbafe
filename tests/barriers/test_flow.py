"""Barriers that flow: the tasks of a run do not end, and errors say what is not possible."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.testing.epochs import committed, published

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run

pytestmark = pytest.mark.slow
PATIENCE = 90


def counting(folder: Path) -> ms.Job:
    path = str(folder / "journal")
    job = ms.Job("counting", checkpoint=str(folder / "checkpoint"), parallelism=2)
    rows = job.stream(journal.source("rows", path=path), "n INT")
    rows.select(k="n % 3").group_by("k").agg(n="count(*)").to(journal.sink("counts", path=path))
    rows.where("n % 10 = 0").to(journal.sink("tens", path=path))
    return job


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for topic in ("rows", "counts", "tens"):
        journal.create(tmp_path / "journal", topic, 2)
    return tmp_path


def send(folder: Path, numbers: range) -> None:
    with journal.producer(folder / "journal", "rows") as producer:
        for n in numbers:
            producer.send({"n": n}, key=f"k{n}")


def counts(folder: Path) -> dict[int, int]:
    rows = [record.json() for record in journal.read(folder / "journal", "counts")]
    return {row["k"]: row["n"] for row in rows}


def until(done: Callable[[], bool], run: Run) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, "nothing happens any more"
        assert not run.poll(0.05)


def jobs_of(run: Run, spark: SparkSession) -> list[int]:
    """The Spark jobs that the run has submitted."""
    query: Any = run._query
    return list(spark.sparkContext.statusTracker().getJobIdsForGroup(str(query.query.runId)))


def test_one_spark_job_has_many_epochs(spark: SparkSession, folder: Path) -> None:
    run = counting(folder).start(ms.real_time("200 ms"), spark=spark)
    try:
        for part in range(5):
            send(folder, range(part * 30, part * 30 + 30))
            until(lambda p=part: sum(counts(folder).values()) == p * 30 + 30, run)  # type: ignore[misc]
        assert run.pauses is None
        assert len(jobs_of(run, spark)) == 1
    finally:
        run.stop()
    epochs = committed(folder / "checkpoint")
    assert len(epochs) >= 5
    assert list(epochs) == list(range(len(epochs))), "a number is never skipped"
    tens = published(folder / "journal", "tens")
    assert sum(map(len, tens.values())) == 15
    assert len(tens) >= 5, "rows are published by the epoch in which they were read"


def test_progress_and_figures_come_with_each_barrier(spark: SparkSession, folder: Path) -> None:
    run = counting(folder).start(ms.real_time("200 ms"), spark=spark)
    try:
        send(folder, range(60))
        until(lambda: sum(counts(folder).values()) == 60, run)
        until(lambda: run.metrics().source("rows").rows == 60, run)
        progress = run.progress()
    finally:
        run.stop()
    assert progress is not None
    assert progress.state_bytes > 0
    assert '"0"' in progress.offsets[0]
    after = run.metrics()
    assert after.source("rows").rows == 60
    assert after.sink("tens").rows == 6


def test_without_barriers_it_says_why(spark: SparkSession, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    own = spark.newSession()
    own.conf.set("spark.millstream.barriers", "false")
    run = counting(folder).start(ms.real_time("300 ms"), spark=own)
    try:
        send(folder, range(30))
        until(lambda: sum(counts(folder).values()) == 30, run)
        until(lambda: len(jobs_of(run, spark)) > 1, run)
        assert run.pauses == "the session has spark.millstream.barriers = false"
    finally:
        run.stop()
    assert f'job "counting" pauses between epochs: {run.pauses or ""}' in caplog.text


def test_a_barrier_that_hangs_fails_the_run(spark: SparkSession, folder: Path) -> None:
    """With no time to wait, no barrier comes through. Nothing is lost."""
    own = spark.newSession()
    own.conf.set("spark.millstream.barriers.patience", "0")
    send(folder, range(30))
    with pytest.raises(ms.MillstreamError) as raised:
        counting(folder).run(ms.real_time("200 ms"), spark=own)
    assert raised.value.code == "MS-RUN-014"
    assert "tasks have reported" in raised.value.message
    assert raised.value.hint is not None
    run = counting(folder).start(ms.real_time("200 ms"), spark=spark)
    try:
        until(lambda: sum(counts(folder).values()) == 30, run)
    finally:
        run.stop()
    assert counts(folder) == {0: 10, 1: 10, 2: 10}
