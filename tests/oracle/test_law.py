"""The law: the sum of all changes out = the job as plain batch SQL over the sum of all changes in, after every epoch.

Every job runs in every scenario. The few that hold most operators run in the quick part, once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from inputs import make
from jobs import ALL

from millstream.testing.oracle import Case, check, check_real_time

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK = {("steps", 1), ("aggregates", 1), ("joins", 1), ("hot_keys", 1), ("nested", 1), ("upserts", 2)}
"""Job, and in how many runs."""
SEEDS = [int(seed) for seed in os.environ.get("MILLSTREAM_SEEDS", "1").split(",")]


def trials() -> Iterator[Any]:
    for name in ALL:
        for runs in (1, 2):
            for seed in SEEDS:
                quick = (name, runs) in QUICK and seed == SEEDS[0]
                label = f"{name}-{'straight' if runs == 1 else 'restarted'}-{seed}"
                yield pytest.param(name, runs, seed, id=label, marks=[] if quick else [pytest.mark.slow])


def case(name: str, seed: int, runs: int = 1) -> Case:
    epochs = 3 if (name, runs) in QUICK else 6
    return Case(ALL[name].build, make(seed, **ALL[name].counts), seed, epochs, runs)


@pytest.mark.parametrize(("name", "runs", "seed"), list(trials()))
def test_every_epoch(name: str, runs: int, seed: int, spark: SparkSession, tmp_path: Path) -> None:
    report = check(case(name, seed, runs), tmp_path, spark)
    assert report.epochs > 1
    # Joins of thin random data may find nothing in some cuts; the quick jobs are dense enough for every sink.
    written = report.records.values()
    assert all(written) if (name, runs) in QUICK else any(written), report


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_real_time(name: str, spark: SparkSession, tmp_path: Path) -> None:
    """With a stop in between."""
    report = check_real_time(case(name, SEEDS[0], runs=2), tmp_path, spark)
    # How much is written depends on when epochs end: what comes and goes within one is not. That every sink of a job
    # writes something is seen in the quick jobs, above.
    assert any(report.records.values()), report
