"""What tells the rows of a join apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
