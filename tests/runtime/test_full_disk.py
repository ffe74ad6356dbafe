"""A disk that fills up while a job runs: it fails with that reason, or waits until there is room."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal
from millstream.runtime.history import failures
from millstream.storage import CheckpointFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 4000
ROOM = 100 << 10
"""For the first epochs of a checkpoint."""


@dataclass(frozen=True)
class Tight:
    """A job that copies a topic onto a disk with too little room, because of a ballast."""

    folder: Path
    disk: Path

    @property
    def ballast(self) -> Path:
        return self.disk / "ballast"

    def job(self) -> ms.Job:
        made = ms.Job("copy", checkpoint=str(self.folder / "checkpoint"), parallelism=1)
        source = journal.source("in", path=str(self.folder / "journal"), max_rows_per_epoch=500)
        made.stream(source, schema="id BIGINT, text STRING").to(journal.sink("out", path=str(self.disk / "journal")))
        return made

    def counting(self) -> ms.Job:
        """A job whose state fills the disk."""
        made = ms.Job("texts", checkpoint=str(self.disk / "checkpoint"), parallelism=1)
        source = journal.source("in", path=str(self.folder / "journal"), max_rows_per_epoch=500)
        counts = made.stream(source, schema="id BIGINT, text STRING").group_by("id").agg(text="max(text)")
        counts.to(journal.sink("texts", path=str(self.folder / "journal")))
        return made

    def copied(self) -> list[int]:
        records = journal.read(self.disk / "journal", "out")
        return [json.loads(record.value or b"")["id"] for record in records]


@pytest.fixture
def tight(tmp_path: Path) -> Iterator[Tight]:
    """A separate disk of 3 MiB, if mounting is allowed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(disk)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting a small disk needs root")
    journal.create(tmp_path / "journal", "in", 1)
    journal.create(disk / "journal", "out", 1)
    with journal.producer(tmp_path / "journal", "in") as producer:
        for number in range(ROWS):
            producer.send({"id": number, "text": "x" * 500})
    made = Tight(tmp_path, disk)
    made.ballast.write_bytes(b"x" * (2 << 20))
    yield made
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk(tight: Tight, spark: SparkSession) -> None:
    """The job fails with that reason, and continues where it was once there is room."""
    with pytest.raises(ms.MillstreamError) as error:
        tight.job().run(ms.available_now(), spark=spark)
    assert error.value.code == "MS-RUN-005"
    assert "disk is full" in error.value.message
    tight.ballast.unlink()
    tight.job().run(ms.available_now(), spark=spark)
    assert tight.copied() == list(range(ROWS))
    assert os.listdir(tight.disk / "journal" / "out" / "0" / "open") == []


@dataclass(frozen=True)
class RoomAfter:
    """A policy that makes room when the job has failed `failures` times."""

    tight: Tight
    failures: int

    def delay_ms(self, failures: Sequence[float]) -> int | None:
        if len(failures) == self.failures:
            self.tight.ballast.unlink()
        return 0


def test_a_job_waits_for_room(tight: Tight, spark: SparkSession) -> None:
    """By itself, within its policy: nothing lost, nothing twice."""
    run = tight.job().start(ms.available_now(), restarts=RoomAfter(tight, failures=2), spark=spark)
    run.wait()
    assert [failure.error.code for failure in run.failures] == ["MS-RUN-005"] * 2
    assert run.state.value == "finished"
    assert tight.copied() == list(range(ROWS))


def test_a_checkpoint_that_fails_is_made_again_as_often_as_is_tolerated(tight: Tight, spark: SparkSession) -> None:
    """No number is skipped: it continues from the last that did not fail."""
    journal.create(tight.folder / "journal", "texts", 1)
    free = os.statvfs(tight.disk)
    with tight.ballast.open("ab") as ballast:
        ballast.write(b"x" * (free.f_bavail * free.f_frsize - ROOM))
    options = ms.checkpoints(keep=2, tolerate=50)
    run = tight.counting().start(ms.available_now(), spark=spark, checkpoints=options)
    while not run.poll(0.2):
        if len(run.failures) == 2:
            tight.ballast.unlink(missing_ok=True)
            subprocess.run(["mount", "-o", "remount,size=60m", str(tight.disk)], check=True)
    assert run.state.value == "finished"
    assert {failure.error.code for failure in run.failures} <= {"MS-RUN-005", "MS-SINK-005"}
    assert len(run.failures) >= 2
    noted = failures(CheckpointFolder.at(str(tight.disk / "checkpoint")))
    assert len(noted) == len(run.failures)
    records = [json.loads(record.value or b"") for record in journal.read(tight.folder / "journal", "texts")]
    assert sorted(record["id"] for record in records) == list(range(ROWS))
