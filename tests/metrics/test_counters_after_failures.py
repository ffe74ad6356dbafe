"""Counters of a run that fails in mid-epoch and starts again: every row of a committed epoch counts once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from tests.metrics.polling import poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.metrics import Metrics

AGAIN = ms.fixed_delay(5, "0 seconds")


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = str(tmp_path / "journal")
    for topic in ("in", "out", "counts"):
        journal.create(made, topic, 1)
    return made


def send(path: str, numbers: range) -> None:
    with journal.producer(path, "in") as producer:
        for n in numbers:
            producer.send({"n": n})


@pytest.mark.slow
def test_in_micro_batches(path: str, tmp_path: Path, spark: SparkSession) -> None:
    """Its Python process is killed in the second epoch, when the tasks in front of it have counted their rows."""
    killed = tmp_path / "killed"

    class Fragile(ms.Process):
        output = "n INT"

        def on_row(self, key: Any, row: Any) -> Iterator[dict[str, int]]:
            if row.n == 15 and not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield {"n": row.n}

    job = ms.Job("fragile", checkpoint=str(tmp_path / "checkpoint"), parallelism=2)
    rows = job.stream(journal.source("in", path=path, max_rows_per_epoch=10), "n INT")
    few = rows.where("n % 2 = 0").select(n="n % 4").group_by("n").agg(rows="count(*)").named("few")
    few.to(journal.sink("counts", path=path, changelog=True))
    rows.key_by("n").process(Fragile, name="passed").to(journal.sink("out", path=path))
    send(path, range(30))
    run = job.start(ms.available_now(), restarts=AGAIN, spark=spark)
    run.wait()
    now = run.metrics()
    assert ([failure.error.code for failure in run.failures], now.restarts) == (["MS-PROCESS-105"], 1)
    assert (now.source("in").rows, now.epochs) == (30, 3)
    assert (now.operator("passed").rows_in, now.operator("passed").rows_out) == (30, 30)
    # Two groups in each of three epochs: each takes back what it said before, but for the first time.
    assert (now.operator("few").rows_in, now.operator("few").rows_out) == (15, 10)
    assert (now.sink("out").rows, now.sink("counts").rows) == (30, 10)
    assert now.sink("out").bytes == sum(len(record.value or b"") for record in journal.read(path, "out"))


def has_read(rows: int, now: Metrics) -> bool:
    return now.source("in").rows >= rows


def lost(spark: SparkSession, times: int, now: Metrics) -> bool:
    """Kills a run's tasks until it has failed that often: between two epochs it has none."""
    if now.restarts < times:
        spark.sparkContext.cancelAllJobs()
    return now.restarts == times


@pytest.mark.slow
def test_in_real_time(path: str, tmp_path: Path, spark: SparkSession) -> None:
    """All tasks of an epoch are lost, again and again, at whatever place the epoch is."""
    job = ms.Job("counts", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
    rows = job.stream(journal.source("in", path=path), "n INT")
    counts = rows.select(n="n % 2").group_by("n").agg(rows="count(*)").named("counts")
    counts.to(journal.sink("counts", path=path))
    rows.to(journal.sink("out", path=path))
    run = job.start(ms.real_time("500 ms"), restarts=AGAIN, spark=spark)
    try:
        for attempt in range(1, 4):
            send(path, range(10))
            poll(run, partial(has_read, 10 * attempt))
            poll(run, partial(lost, spark, attempt))
        send(path, range(10))
        before = poll(run, lambda now: len(list(journal.read(path, "out"))) == 40 and now.sink("out").rows >= 40)
        now = poll(run, lambda now: now.epochs > before.epochs + 1)
        assert now.restarts == 3
        assert now.source("in").rows == 40
        assert now.operator("counts").rows_in == 40
        assert now.sink("out").rows == 40
    finally:
        run.stop()
