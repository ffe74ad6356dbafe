"""The law: the sum of all changes out = the job as plain batch SQL over the sum of all changes in, after every epoch.

Every job runs with a stop in between, in micro-batches and in real time. A few run in the quick part, too.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from inputs import make
from jobs import ALL

from millstream.testing.oracle import Case, check, check_real_time

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

for file in sorted(Path(__file__).parent.glob("*_jobs.py")):
    importlib.import_module(file.stem)

SEEDS = [int(seed) for seed in os.environ.get("MILLSTREAM_SEEDS", "1").split(",")]


def case(name: str, seed: int, epochs: int, runs: int) -> Case:
    """The input is worked off in so many runs."""
    made = ALL[name]
    return Case(made.build, make(seed, **made.counts), seed, epochs, runs, made.first)


@pytest.mark.parametrize("name", [name for name in ALL if ALL[name].quick])
def test_without_a_stop(name: str, spark: SparkSession, tmp_path: Path) -> None:
    judge(case(name, SEEDS[0], epochs=3, runs=1), tmp_path, spark)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ALL)
def test_every_epoch(name: str, seed: int, spark: SparkSession, tmp_path: Path) -> None:
    """With a stop in between, which holds all that a straight run does."""
    judge(case(name, seed, epochs=6, runs=2), tmp_path, spark)


def judge(case: Case, place: Path, spark: SparkSession) -> None:
    report = check(case, place, spark)
    assert report.epochs > 1
    # A sink of that name is there to stay empty: no row may be late.
    assert all(count for sink, count in report.records.items() if sink != "none"), report


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ALL if ALL[name].real_time])
def test_real_time(name: str, spark: SparkSession, tmp_path: Path) -> None:
    """With a stop in between."""
    report = check_real_time(case(name, SEEDS[0], epochs=6, runs=2), tmp_path, spark)
    # How much is written depends on when epochs end: what comes and goes within one is not. That every sink of a job
    # writes something is seen in micro-batches, above.
    assert any(report.records.values()), report
