"""A job that writes to a topic with limits deletes what the topic need not keep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_a_job_keeps_its_topic_small(tmp_path: Path, spark: SparkSession) -> None:
    path, rows = tmp_path / "journal", 200
    journal.create(path, "in")
    journal.create(path, "out", keep_bytes=5000)
    for run in range(4):
        with journal.producer(path, "in") as out:
            for n in range(run * rows, (run + 1) * rows):
                out.send({"n": n})
        job = ms.Job("copy", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
        source = journal.source("in", path=str(path), max_rows_per_epoch=50)
        job.stream(source, "n BIGINT").to(journal.sink("out", path=str(path)))
        job.run(ms.available_now(), spark=spark)
    found = journal.describe(path, "out").partitions[0]
    assert 0 < found.start < found.end == 4 * rows
    assert [record.json()["n"] for record in journal.read(path, "out")] == list(range(found.start, found.end))
