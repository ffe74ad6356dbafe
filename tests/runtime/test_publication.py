"""A committed epoch that cannot be published is reported, even if no other epoch comes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import files, journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Broken:
    """A running job whose next epoch finds its place of publication taken."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        path = str(folder / "journal")
        journal.create(path, "in", 1)
        self._producer = journal.producer(path, "in")
        job = ms.Job("copy", checkpoint=str(folder / "checkpoint"), parallelism=1)
        out = folder / "out"
        job.stream(journal.source("in", path=path), schema="n BIGINT").to(files.sink(str(out), format="json"))
        self.run = job.start(ms.micro_batch("0 seconds"), spark=spark)
        self.send()
        while not (published := list(out.glob("epoch=*"))):
            assert not self.run.poll(0.05)
        (first,) = published
        prefix, _, number = first.name.rpartition("-")
        # An epoch without the row may have come before.
        self.epoch = int(number) + 1
        self.next = first.with_name(f"{prefix}-{self.epoch:0{len(number)}}")
        self.next.write_text("in the way")
        self.send()

    def send(self) -> None:
        self._producer.send({"n": 1})
        self._producer.flush()


@pytest.fixture
def broken(tmp_path: Path, spark: SparkSession) -> Broken:
    return Broken(tmp_path, spark)


def test_whoever_waits_for_the_job_is_told(broken: Broken) -> None:
    with pytest.raises(ms.MillstreamError) as error:
        broken.run.wait()
    assert error.value.code == "MS-SINK-005"
    assert broken.next.name in error.value.message
    assert broken.run.state.value == "failed"


def test_whoever_stops_the_job_is_told(broken: Broken, tmp_path: Path) -> None:
    while not (tmp_path / "checkpoint" / "spark" / "commits" / str(broken.epoch)).exists():
        pass
    with pytest.raises(ms.MillstreamError) as error:
        broken.run.stop()
    assert error.value.code == "MS-SINK-005"
    assert broken.run.state.value == "failed"
