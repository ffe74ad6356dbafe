"""Killed right after the commit of the last epoch that had rows, every example gives what it gives without that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from millstream.api.job import Job
from millstream.spark.memory import without_empty_epochs
from millstream.testing.epochs import committed, last_read
from millstream.verify.contents import Held, held
from millstream.verify.inputs import Input, fill
from millstream.verify.sandbox import CHECKPOINT, INPUT, OUTPUT
from millstream.verify.trial import EPOCHS
from millstream.verify.worker import load, run
from tests.verify.test_verify_job import LAST, ROOT, verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
TIMED = ("clicks", "metrics", "page_views")
"""Those that wait for time."""
ROWS = 60


class Example:
    """With as much input as is read in a few epochs, in its own folder."""

    def __init__(self, file: Path, folder: Path, spark: SparkSession) -> None:
        self.job: Job = load(file)
        self._folder, self._spark = folder, spark
        counts = fill(self.job._sinks, folder / INPUT, Input(ROWS, 1))
        self._limits = {name: -(-count // EPOCHS) for name, (count, _) in counts.items()}

    def run(self, place: str) -> dict[str, Held]:
        told = {"place": place, "mode": "micro-batch", "rows_per_epoch": self._limits, "elsewhere": None, "moved": None}
        assert "error" not in (said := run(self.job, self._folder, told, self._spark)), said
        return {sink.name: held(sink, self._folder / place / OUTPUT) for sink in self.job._sinks}

    def epochs(self, place: str) -> tuple[int, int | None]:
        """The last one, and the last one that had rows."""
        checkpoint = self._folder / place / CHECKPOINT
        return max(committed(checkpoint)), last_read(checkpoint)


@pytest.mark.parametrize(
    "file",
    [pytest.param(file, marks=() if file.stem in TIMED else pytest.mark.long, id=file.stem) for file in EXAMPLES],
)
def test_an_example_goes_on_behind_its_last_rows(file: Path, spark: SparkSession, tmp_path: Path) -> None:
    example = Example(file, tmp_path, spark)
    straight = example.run("straight")
    with without_empty_epochs(spark):
        example.run("killed")
    last, read = example.epochs("killed")
    assert last == read
    assert example.run("killed") == straight
    assert example.epochs("killed") == example.epochs("straight") == (last + (file.stem in TIMED), last)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "mode"), [*((file.stem, "micro-batch") for file in EXAMPLES), *((name, "real-time") for name in TIMED)]
)
def test_an_example_killed_behind_its_last_rows(name: str, mode: str, tmp_path: Path) -> None:
    """For real, and then as images."""
    options = ("--mode", mode, "--at", "commits.after", "--faults", "3", "--rows", str(ROWS))
    code, said = verify(tmp_path, str(ROOT / "examples" / f"{name}.py"), *options)
    found = LAST.fullmatch(said.splitlines()[-1])
    assert found is not None, said
    assert (code, found[1], found[3], found[4]) == (0, "3", "0", "0"), said
