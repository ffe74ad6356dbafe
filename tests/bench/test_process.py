"""The last line of the benchmark of Python code, and the rows that all ways read."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from bench.process import install
from bench.process.command import FEW, Folders, as_csv, last_line
from bench.process.install import Missing, environment
from bench.process.rows import FILES, generate


def test_the_last_line_compares_with_the_best_of_others() -> None:
    costs = {"keyed, millstream": 6.0, "keyed, bytewax": 5.0, "map, millstream": 2.0, "batches, millstream": 1.3}
    assert last_line({**costs, "map, bytewax": 0.5, "batches, mapInArrow": 1.0}) == (
        "keyed 1.20 of bytewax, map 4.00 of bytewax, batches 1.30 of mapInArrow"
    )
    assert last_line(costs) == "keyed 1.20 of bytewax, map ? of bytewax, batches ? of mapInArrow"


def test_what_it_takes_to_start_is_taken_off() -> None:
    assert Folders("few", "all", FEW + 500_000).per_million(2.0, 5.0) == 6.0


def test_all_ways_read_the_same_rows(tmp_path: Path) -> None:
    folder = generate(tmp_path / "rows", 1_000)
    files = sorted(Path(folder).glob("*.parquet"))
    assert len(files) == FILES
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    assert sorted(row["id"] for row in rows) == list(range(1_000))
    names = pc.ReadOptions(column_names=list(rows[0]))
    lines = [row for file in sorted(Path(as_csv(folder)).glob("*")) for row in pc.read_csv(file, names).to_pylist()]
    assert lines == rows


def test_what_cannot_be_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "TOOLS", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(Missing, match="nothing==1 cannot be installed: no word why"):
        environment("nothing", "nothing==1")
    assert not list(tmp_path.iterdir())
