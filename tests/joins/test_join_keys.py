"""What identifies the rows of a join."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.testing import Inputs, Runner


def test_a_key_that_is_compared_in_another_type_tells_nothing_apart(tmp_path: Path, spark: SparkSession) -> None:
    """The customers '1' and '01' are one as numbers: an order would have two."""
    path = str(tmp_path / "journal")
    for topic in ("orders", "customers", "out"):
        journal.create(path, topic, 1)
    job = ms.Job("named", checkpoint=str(tmp_path / "checkpoint"))
    orders = job.table(journal.source("orders", path=path), "id INT, customer INT", key="id").as_("o")
    customers = job.table(journal.source("customers", path=path), "id STRING, name STRING", key="id").as_("c")
    orders.join(customers, on="o.customer = c.id").select("o.id", "c.name").to(journal.sink("out", path=path))
    with pytest.raises(ms.MillstreamError) as error:
        job.run(ms.available_now(), spark=spark)
    assert error.value.code == "MS-JOIN-009"
    assert error.value.hint == "cast the other side: CAST(customer AS STRING)"


@pytest.mark.parametrize("mode", [None, ms.batch()])
def test_nulls_that_are_equal(millstream: Runner, mode: ms.Mode | None) -> None:
    """`<=>` is a key as `=` is: of other types, and of the two zeros, too."""
    job = ms.Job("named")
    left = job.stream(journal.source("left"), "k INT, x DOUBLE, n INT").as_("a")
    right = job.table(journal.source("right"), "id INT, k BIGINT, x DOUBLE", key="id").as_("b")
    for how in ("inner", "left", "full"):
        both = left.join(right, on="a.k <=> b.k AND b.x IS NOT DISTINCT FROM a.x", how=how)
        both.select("a.n", "b.id").to(journal.sink(how, changelog=True))
    left.enrich(right, on="a.k <=> b.k").select("a.n", "b.id").to(journal.sink("enriched"))
    given: Inputs = {
        "right": [{"id": 1, "k": None, "x": 0.0}, {"id": 2, "k": 2, "x": None}, {"id": 3, "k": None, "x": None}],
        "left": [
            {"n": 1, "k": None, "x": -0.0},
            {"n": 2, "k": 2, "x": None},
            {"n": 3, "k": None, "x": None},
            {"n": 4, "k": 2, "x": 1.0},
        ],
    }
    result = millstream.run(job, given, mode=mode)
    pairs = [(1, 1), (2, 2), (3, 3)]
    found = {how: sorted((row["n"], row.get("id")) for row in result[how].rows) for how in ("inner", "left", "full")}
    assert found == {"inner": pairs, "left": [*pairs, (4, None)], "full": [*pairs, (4, None)]}
    enriched = sorted((row["n"], row.get("id")) for row in result["enriched"].rows)
    assert enriched == [(1, 1), (1, 3), (2, 2), (3, 1), (3, 3), (4, 2)]
