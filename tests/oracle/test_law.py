"""The law: the sum of all changes out = the job as plain batch SQL over the sum of all changes in, after every epoch.

Every job runs with a stop in between, in micro-batches and in real time. A few run in the quick part, too.
"""

from __future__ import annotations

import importlib
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

for file in sorted(Path(__file__).parent.glob("*_jobs.py")):
    importlib.import_module(file.stem)

RUNS = {"straight": 1, "restarted": 2}
"""Scenarios, and in how many runs the input is worked off."""
SEEDS = [int(seed) for seed in os.environ.get("MILLSTREAM_SEEDS", "1").split(",")]


def trials() -> Iterator[Any]:
    """Every job with a stop in between, which holds all that a straight run does; the quick ones as they ask for it."""
    for name in ALL:
        for scenario in dict.fromkeys((ALL[name].quick or "restarted", "restarted")):
            for seed in SEEDS:
                marks = [] if is_quick(name, scenario) and seed == SEEDS[0] else [pytest.mark.slow]
                yield pytest.param(name, scenario, seed, id=f"{name}-{scenario}-{seed}", marks=marks)


def is_quick(name: str, scenario: str) -> bool:
    return ALL[name].quick == scenario


def case(name: str, seed: int, scenario: str) -> Case:
    epochs = 3 if is_quick(name, scenario) else 6
    made = ALL[name]
    return Case(made.build, make(seed, **made.counts), seed, epochs, RUNS[scenario], made.first)


@pytest.mark.parametrize(("name", "scenario", "seed"), list(trials()))
def test_every_epoch(name: str, scenario: str, seed: int, spark: SparkSession, tmp_path: Path) -> None:
    report = check(case(name, seed, scenario), tmp_path, spark)
    assert report.epochs > 1
    # A sink of that name is there to stay empty: no row may be late.
    assert all(count for sink, count in report.records.items() if sink != "none"), report


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ALL if ALL[name].real_time])
def test_real_time(name: str, spark: SparkSession, tmp_path: Path) -> None:
    """With a stop in between."""
    report = check_real_time(case(name, SEEDS[0], "restarted"), tmp_path, spark)
    # How much is written depends on when epochs end: what comes and goes within one is not. That every sink of a job
    # writes something is seen in micro-batches, above.
    assert any(report.records.values()), report
