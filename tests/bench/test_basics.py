"""The benchmark of single operators runs, on both sides."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bench.basics import CASES, Bench, generate
from millstream import journal

EVENTS = 100


@pytest.mark.long
def test_both_sides_do_the_work(spark: SparkSession, tmp_path: Path) -> None:
    bench = Bench(tmp_path, 100 * EVENTS, spark)  # all events come in one epoch
    for topic in ("events", "left", "right"):
        generate(bench.path, topic, EVENTS, seed=1)
    for at, case in enumerate(CASES):
        bench.by_millstream(case)
        bench.by_pyspark(case)
        files = (tmp_path / f"out{2 * at + 1}").rglob("*.txt")
        assert list(journal.read(bench.path, f"out{2 * at}")), case.name
        assert any(file.read_text() for file in files), case.name
