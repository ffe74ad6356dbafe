"""Another parallelism while input flows, in micro-batches and in real time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal
from millstream.plan.modes import Mode
from tests.savepoints.test_bad_savepoints import Saved, totals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
@pytest.mark.parametrize("mode", [ms.micro_batch("100 ms"), ms.real_time("500 ms")], ids=["micro-batch", "real time"])
def test_while_input_flows(mode: Mode, spark: SparkSession, tmp_path: Path) -> None:
    own = Saved(tmp_path, spark)
    own.job(totals, "next").restore(str(tmp_path / "saved"), spark=spark)
    run = own.job(totals, "next").start(mode, spark=spark)
    for parallelism in (3, 2, 7, 1):
        own.feed()
        done = run.rescale(parallelism)
        assert [(one.operator, one.name, one.same) for one in done.lists if one.rows] == [("totals", "group", True)]
        assert [len(rows) for rows in done.shares] == [parallelism]
        assert sum(done.shares[0]) == sum(one.rows for one in done.lists)
        own.feed()
    while sum(counts(own).values()) < 20 * 9:
        run.poll(0.1)
    saved = run.savepoint(str(tmp_path / "while it runs"))
    assert saved.manifest.parallelism == 1
    run.stop()
    assert counts(own) == {"c0": 63, "c1": 63, "c2": 54}
    again = own.job(totals, "next", parallelism=1).run(ms.available_now(), spark=spark)
    assert again.state.value == "finished"
    with own.job(totals, "next", parallelism=1).state(spark=spark) as state:
        assert sum(row["count0"] for row in state.arrow("totals", "group").to_pylist()) == 20 * 9


def counts(own: Saved) -> dict[str, int]:
    """Each change is there once: what is deleted was inserted before."""
    rows: dict[str, int] = {}
    for record in journal.read(own.path, "out"):
        row = record.json()
        if row["op"] == "delete":
            assert rows.pop(row["customer"]) == row["n"]
        else:
            assert row["customer"] not in rows
            rows[row["customer"]] = row["n"]
    return rows
