"""Savepoints on each storage: a job continues from one, at another parallelism."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import millstream as ms
from millstream import journal
from millstream.storage import files_at
from tests.storage.test_jobs import counting, latest, send


@pytest.mark.slow
def test_a_job_goes_on_from_a_savepoint(folder: str, spark: SparkSession) -> None:
    for topic in ("numbers", "even", "thirds"):
        journal.create(f"{folder}/journal", topic, 1)
    send(folder, range(100))
    run = counting(folder).start(ms.available_now(), spark=spark)
    run.wait()
    run.savepoint(f"{folder}/saved")
    job = counting(folder)
    job.checkpoint, job.parallelism = f"{folder}/next", 3
    job.restore(f"{folder}/saved", spark=spark)
    send(folder, range(100, 200))
    job.run(ms.available_now(), spark=spark)
    thirds = [[n for n in range(200) if n % 3 == third] for third in range(3)]
    expected = {third: {"third": third, "n": len(all_), "sum": sum(all_)} for third, all_ in enumerate(thirds)}
    assert latest(folder, "thirds") == expected
    assert len(list(journal.read(f"{folder}/journal", "even"))) == 200
    with pytest.raises(ms.MillstreamError, match="MS-CHECKPOINT-015"):
        counting(folder).run(ms.available_now(), spark=spark)


@pytest.mark.slow
def test_a_half_written_one_is_none(folder: str, spark: SparkSession) -> None:
    for topic in ("numbers", "even", "thirds"):
        journal.create(f"{folder}/journal", topic, 1)
    send(folder, range(10))
    run = counting(folder).start(ms.available_now(), spark=spark)
    run.wait()
    run.savepoint(f"{folder}/saved")
    files_at(f"{folder}/saved").delete(f"{files_at(folder).resolved(folder)}/saved/savepoint.json")
    job = counting(folder)
    job.checkpoint = f"{folder}/next"
    with pytest.raises(ms.MillstreamError, match="MS-SAVEPOINT-002"):
        job.restore(f"{folder}/saved", spark=spark)
