"""A checkpoint whose newest epoch is damaged: its state is computed again, or the job is refused, and says why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.runtime.history import failures
from millstream.storage import CheckpointFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "k STRING, v INT, at TIMESTAMP"


class Twice(ms.Process):
    output = "k STRING, n INT"
    n = ms.ValueState("INT")

    def on_row(self, key: str, row: Any) -> Iterator[Any]:
        self.n.set(self.n.get(0) + 1)
        yield key, self.n.get()


class Damaged:
    """Two stages and a window, an epoch for each row."""

    def __init__(self, folder: Path, spark: SparkSession, name: str = "job") -> None:
        self.path, self.spark, self.sent = str(folder / f"{name}-journal"), spark, 0
        self.checkpoint = folder / name
        for topic in ("rows", "spread", "minutes"):
            journal.create(self.path, topic)

    def feed(self, count: int) -> None:
        with journal.producer(self.path, "rows") as producer:
            for n in range(self.sent, self.sent + count):
                producer.send({"k": "abc"[n % 3], "v": n, "at": f"2026-01-01T00:{n // 2:02}:{n % 2 * 30:02}Z"})
        self.sent += count

    def job(self, python: bool = False) -> ms.Job:
        job = ms.Job("damaged", checkpoint=str(self.checkpoint))
        source = journal.source("rows", path=self.path, max_rows_per_epoch=1)
        rows = job.stream(source, SCHEMA, time="at")
        if python:
            rows.key_by("k").process(Twice, name="twice").to(journal.sink("spread", path=self.path))
            return job
        counts = rows.group_by("k").agg(n="count(*)", v="sum(v)").named("counts")
        counts.group_by("n").agg(keys="count(*)", v="sum(v)").named("spread").to(journal.sink("spread", path=self.path))
        minutes = rows.window(ms.tumbling("1 minute")).group_by("k").agg(n="count(*)").named("minutes")
        minutes.final().to(journal.sink("minutes", path=self.path))
        return job

    def run(self, **options: Any) -> Any:
        return self.job(**options).run(ms.available_now(), spark=self.spark)

    def written(self) -> dict[str, list[bytes | None]]:
        return {topic: [one.value for one in journal.read(self.path, topic)] for topic in ("spread", "minutes")}

    def newest(self, stage: int, kind: str = "changelog", back: int = 0) -> Path:
        """A file of the newest epoch's state, or of one before."""
        found = (self.checkpoint / "spark" / "state" / str(stage) / "0").glob(f"*.{kind}")
        return sorted(found, key=lambda file: int(file.name.split("_")[0]))[-1 - back]


def spoil(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(bytes(content))


@pytest.fixture
def pair(tmp_path: Path, spark: SparkSession) -> tuple[Damaged, Damaged]:
    """The same job twice: one is to be damaged, the other says what is right."""
    both = Damaged(tmp_path, spark), Damaged(tmp_path, spark, "whole")
    for one in both:
        one.feed(9)
        one.run()
    return both


def test_state_that_is_damaged_is_computed_again(pair: tuple[Damaged, Damaged]) -> None:
    """Nothing that is published comes twice, nothing is left out, and the history shows it."""
    job, whole = pair
    before = job.written()
    spoil(job.newest(0))
    job.newest(1, back=1).unlink()
    for one in pair:
        one.feed(5)
        one.run()
    assert job.written() == whole.written()
    assert {topic: rows[: len(before[topic])] for topic, rows in job.written().items()} == before
    told = failures(CheckpointFolder.at(str(job.checkpoint)))
    assert "computed again from epoch" in told[0].reason
    assert len(told) == 1


def test_rows_that_are_not_known_any_more(pair: tuple[Damaged, Damaged]) -> None:
    job, _ = pair
    before = job.written()
    offsets = sorted((job.checkpoint / "spark" / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))[-1]
    offsets.write_text("v1\n{")
    with pytest.raises(ms.MillstreamError, match=r"MS-CHECKPOINT-013.*which rows it read is not known"):
        job.run()
    assert job.written() == before


def test_code_that_may_give_something_else(tmp_path: Path, spark: SparkSession) -> None:
    job = Damaged(tmp_path, spark)
    job.feed(4)
    job.run(python=True)
    spoil(job.newest(0))
    with pytest.raises(ms.MillstreamError, match=r'MS-CHECKPOINT-013.*step "twice" might give other results'):
        job.run(python=True)
