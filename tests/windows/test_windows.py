"""Time is data: rows, epoch by epoch, and what the windows say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.testing.changelog import Upserts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def at(minute: int, second: int = 0) -> str:
    return f"2026-01-01T00:{minute:02d}:{second:02d}.000000Z"


class Transcript:
    """A job over metrics, fed one epoch after the other; `state` goes on from run to run."""

    def __init__(self, folder: Path, spark: SparkSession, lateness: str, **window: Any) -> None:
        self.folder, self.path, self.spark = folder, str(folder / "journal"), spark
        for topic in ("metrics", "changes", "final"):
            journal.create(self.path, topic, 1)
        self.lateness, self.window = lateness, window
        self.late = 0

    def job(self) -> ms.Job:
        job = ms.Job("metrics", checkpoint=str(self.folder / "checkpoint"))
        metrics = job.stream(
            journal.source("metrics", path=self.path, max_rows_per_epoch=1),
            schema="at TIMESTAMP, host STRING, cpu INT",
            time="at",
            lateness=self.lateness,
        )
        cpu = metrics.window(**self.window).group_by("host").agg(n="count(*)", top="max(cpu)").named("cpu")
        cpu.to(journal.sink("changes", path=self.path))
        cpu.final().named("closed").to(journal.sink("final", path=self.path))
        return job

    def feed(self, *rows: tuple[str | None, str, int]) -> None:
        """Each row is an epoch of its own."""
        with journal.producer(self.path, "metrics") as producer:
            for moment, host, cpu in rows:
                producer.send({"at": moment, "host": host, "cpu": cpu})
        run = self.job().start(ms.available_now(), spark=self.spark)
        run.wait()
        self.late += run.late()["closed"]

    def table(self) -> set[tuple[str, str, str, int, int]]:
        """The results as they are now."""
        summed = Upserts()
        summed.read(list(journal.read(self.path, "changes")))
        found = [json.loads(row) for row, count in summed.rows.items() if count]
        return {(r["window_start"], r["window_end"], r["host"], r["n"], r["top"]) for r in found}

    def rows(self, topic: str) -> Counter[tuple[str, str, str, int, int]]:
        found = [json.loads(record.value or b"") for record in journal.read(self.path, topic)]
        return Counter((r["window_start"], r["window_end"], r["host"], r["n"], r["top"]) for r in found)


def test_final_results_come_once_when_the_watermark_passes(tmp_path: Path, spark: SparkSession) -> None:
    said = Transcript(tmp_path, spark, "30 seconds", window=ms.tumbling("1 minute"))
    said.feed((at(0, 10), "a", 1), (at(0, 50), "a", 2), (at(1, 5), "a", 3), (at(0, 59), "a", 4))
    assert said.rows("final") == Counter(), "the watermark is at 0:35"
    said.feed((at(1, 31), "b", 7))
    first = (at(0), at(1), "a", 3, 4)
    assert said.rows("final") == Counter([first]), "the watermark is at 1:01, also after a restart"
    assert said.rows("changes")[first] == 1
    assert said.late == 0


def test_late_rows_are_counted_and_change_nothing(tmp_path: Path, spark: SparkSession) -> None:
    said = Transcript(tmp_path, spark, "0 seconds", window=ms.tumbling("1 minute"))
    said.feed((at(0, 10), "a", 1), (at(2), "a", 2), (at(0, 20), "a", 99), (at(2, 1), "b", 3))
    assert said.rows("final") == Counter([(at(0), at(1), "a", 1, 1)])
    assert said.late == 1


def test_allowed_lateness_corrects(tmp_path: Path, spark: SparkSession) -> None:
    window = {"window": ms.tumbling("1 minute"), "allowed_lateness": "5 minutes"}
    said = Transcript(tmp_path, spark, "0 seconds", **window)
    said.feed((at(0, 10), "a", 1), (at(2), "a", 2), (at(0, 20), "a", 99))
    assert said.rows("changes")[(at(0), at(1), "a", 2, 99)] == 1
    said.feed((at(6), "b", 1), (at(0, 30), "a", 100))
    assert said.rows("final") == Counter([(at(0), at(1), "a", 2, 99)])
    assert said.late == 1


def test_a_row_is_in_every_window_that_it_falls_into(tmp_path: Path, spark: SparkSession) -> None:
    said = Transcript(tmp_path, spark, "0 seconds", window=ms.hopping("3 minutes", every="2 minutes"))
    said.feed((at(2, 30), "a", 1), (at(3), "a", 2), (at(30), "z", 0))
    assert said.rows("final") == Counter([(at(0), at(3), "a", 1, 1), (at(2), at(5), "a", 2, 2)])


def test_a_row_between_two_sessions_joins_them(tmp_path: Path, spark: SparkSession) -> None:
    window = {"window": ms.session("1 minute"), "allowed_lateness": "10 minutes"}
    said = Transcript(tmp_path, spark, "0 seconds", **window)
    said.feed((at(1), "a", 1), (at(2, 30), "a", 2), (at(2, 20), "b", 9), (at(3, 10), "a", 3))
    two = [(at(1), at(2), "a", 1, 1), (at(2, 30), at(4, 10), "a", 2, 3)]
    assert said.table() == {*two, (at(2, 20), at(3, 20), "b", 1, 9)}
    said.feed((at(1, 50), "a", 4))
    joined = (at(1), at(4, 10), "a", 4, 4)
    assert said.table() == {joined, (at(2, 20), at(3, 20), "b", 1, 9)}
    said.feed((at(13, 30), "b", 7), (at(13, 31), "b", 7))
    assert said.rows("final") == Counter([(at(2, 20), at(3, 20), "b", 1, 9)]), "the other one ends at 14:10"
    said.feed((at(14, 10), "b", 8))
    assert said.rows("final") == Counter([(at(2, 20), at(3, 20), "b", 1, 9), joined])


def test_a_session_that_is_over_takes_no_more_rows(tmp_path: Path, spark: SparkSession) -> None:
    said = Transcript(tmp_path, spark, "0 seconds", window=ms.session("1 minute"))
    said.feed((at(1), "a", 1), (at(2), "a", 2), (at(4), "b", 1))
    assert said.rows("final") == Counter([(at(1), at(3), "a", 2, 2)]), "a row at the end of a session still joins it"
    said.feed((at(3), "a", 3), (at(3, 1), "a", 4), (at(5), "b", 2), (at(9), "c", 0))
    closed = [(at(1), at(3), "a", 2, 2), (at(3, 1), at(4, 1), "a", 1, 4), (at(4), at(6), "b", 2, 2)]
    assert said.rows("final") == Counter(closed)
    assert said.late == 1


def test_windows_need_a_time() -> None:
    job = ms.Job("metrics")
    metrics = job.stream(journal.source("metrics"), schema="at TIMESTAMP, cpu INT")
    with pytest.raises(ms.MillstreamError) as error:
        metrics.window(ms.tumbling("1 minute"))
    assert error.value.code == "MS-WINDOW-001"
    with pytest.raises(ms.MillstreamError) as error:
        ms.hopping("1 minute", every="0 seconds")
    assert error.value.code == "MS-WINDOW-002"
