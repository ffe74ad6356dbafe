"""The law: the sum of all changes out = the job as plain batch SQL over the sum of all changes in, after every epoch.

Every job runs in micro-batches and in real time, one after the other from one checkpoint; long runs take each mode by
itself, too. A few jobs run in the quick part.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from millstream.testing.oracle import Report, check, check_both_modes, check_real_time
from millstream.testing.scenarios import check_moved, check_rescaled_in_real_time
from millstream.testing.trial import Case
from tests.oracle.inputs import make
from tests.oracle.jobs import ALL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

for file in sorted(Path(__file__).parent.glob("*_jobs.py")):
    importlib.import_module(f"{__package__}.{file.stem}")


def case(name: str, seeds: Sequence[int], epochs: int, runs: int, killed: bool = False) -> Case:
    """The input is processed in `runs` runs; the last of the seeds says where it is cut."""
    made = ALL[name]
    return Case(made.build, make(seeds, **made.counts), seeds[-1], epochs, runs, made.first, killed)


@pytest.fixture
def epochs(request: pytest.FixtureRequest) -> int:
    """At least one before the stop and one after it, and most often two."""
    return 8 if request.config.getoption("--long") else 4


@pytest.mark.parametrize("name", [name for name in ALL if ALL[name].quick])
def test_without_a_stop(name: str, seeds: Sequence[int], spark: SparkSession, tmp_path: Path) -> None:
    report = check(case(name, seeds, epochs=3, runs=1), tmp_path, spark)
    assert report.epochs > 1
    refuse_empty(report)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_both_modes(name: str, seeds: Sequence[int], epochs: int, spark: SparkSession, tmp_path: Path) -> None:
    """Which one is first depends on the job and on the seed that is new in every run."""
    real_time_first = (list(ALL).index(name) + seeds[-1]) % 2 == 0
    made = case(name, seeds, epochs, runs=2, killed=True)
    report = check_both_modes(made, tmp_path, spark, real_time_first=real_time_first)
    assert report.epochs > 1
    refuse_empty(report)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_every_epoch(name: str, seeds: Sequence[int], epochs: int, spark: SparkSession, tmp_path: Path) -> None:
    """With a stop in between, which holds all that a straight run does; killed behind the last rows."""
    report = check(case(name, seeds, epochs, runs=2, killed=True), tmp_path, spark)
    assert report.epochs > 1
    refuse_empty(report)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_real_time(name: str, seeds: Sequence[int], epochs: int, spark: SparkSession, tmp_path: Path) -> None:
    """With a stop in between."""
    refuse_empty(check_real_time(case(name, seeds, epochs, runs=2), tmp_path, spark))


MOVED = ("joins",)
"""Jobs that go through a savepoint in every run; --long does so with all."""


def moving() -> list[object]:
    """All jobs; all but a few only in long runs."""
    return [pytest.param(name, marks=[] if name in MOVED else pytest.mark.long) for name in ALL]


def rescaled() -> list[object]:
    """A few jobs to three tasks, as a changed plan does; in long runs all of them, to one or seven in turn."""
    others = [pytest.param(name, (1, 7)[place % 2], marks=pytest.mark.long) for place, name in enumerate(ALL)]
    return [*((name, 3) for name in MOVED), *others]


@pytest.mark.slow
@pytest.mark.parametrize("name", moving())
def test_savepoint(name: str, seeds: Sequence[int], epochs: int, spark: SparkSession, tmp_path: Path) -> None:
    """At the same parallelism."""
    report = check_moved(case(name, seeds, epochs, runs=2), tmp_path, spark, parallelism=2)
    assert report is not None
    refuse_empty(report)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parallelism"), rescaled())
def test_rescaled(
    name: str, parallelism: int, seeds: Sequence[int], epochs: int, spark: SparkSession, tmp_path: Path
) -> None:
    report = check_moved(case(name, seeds, epochs, runs=2), tmp_path, spark, parallelism)
    assert report is not None
    refuse_empty(report)


@pytest.mark.slow
@pytest.mark.parametrize("name", moving())
def test_changed_plan(name: str, seeds: Sequence[int], epochs: int, spark: SparkSession, tmp_path: Path) -> None:
    """One more step: the others are at other places of their stage."""
    report = check_moved(case(name, seeds, epochs, runs=2), tmp_path, spark, parallelism=3, changed=True)
    if report is not None:
        refuse_empty(report)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in ALL if not ALL[name].first])
def test_rescaled_in_real_time(
    name: str, seeds: Sequence[int], epochs: int, spark: SparkSession, tmp_path: Path
) -> None:
    refuse_empty(check_rescaled_in_real_time(case(name, seeds, epochs, runs=1), tmp_path, spark, (3, 2, 7, 1)))


def refuse_empty(report: Report) -> None:
    """A sink that nothing was written to shows nothing. One is there to stay empty: no row may be late."""
    assert all(count for sink, count in report.records.items() if sink != "none"), report
