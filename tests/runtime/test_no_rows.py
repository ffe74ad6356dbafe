"""A group by nothing has a result before its first row: what cannot be computed without rows is NULL, in every mode."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.testing import Delete

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.testing import Runner

RESULTS = {
    "n": "count(*)",
    "ratio": "count(*) / count(DISTINCT x)",
    "share": "sum(x) % count(x)",
    "first": "sort_array(collect_list(x))[0]",
    "plain": "1 / (count(*) + 1)",
}
NOTHING = {"n": 0, "ratio": None, "share": None, "first": None, "plain": 1.0}
TWO = {"n": 2, "ratio": 1.0, "share": 1, "first": 2, "plain": 1 / 3}


def counting(path: str = "/nowhere") -> ms.Job:
    job = ms.Job("ratios", checkpoint=f"{path}/checkpoint", parallelism=1)
    rows = job.table(journal.source("rows", path=path), "id INT, x INT", key="id")
    rows.agg(**RESULTS).to(journal.sink("out", path=path))
    return job


def test_a_table_that_is_empty_at_first_and_again_later(millstream: Runner) -> None:
    changes: list[list[dict[str, Any] | Delete]] = [
        [],
        [{"id": 1, "x": 2}, {"id": 2, "x": 3}],
        [Delete({"id": 1}), Delete({"id": 2})],
    ]
    result = millstream.run(counting(), {"rows": changes})
    assert result["out"].epochs == [[NOTHING], [TWO], [NOTHING]]
    for epochs, table in enumerate(result["out"].tables, 1):
        whole = [change for epoch in changes[:epochs] for change in epoch]
        assert millstream.run(counting(), {"rows": whole}, mode=ms.batch())["out"].rows == table


def test_having_goes_by_the_same(millstream: Runner) -> None:
    job = ms.Job("having")
    rows = job.stream(journal.source("rows", path="/nowhere"), "id INT, x INT")
    rows.agg(ratio="count(*) / count(DISTINCT x)").where("ratio > 1").to(journal.sink("out", path="/nowhere"))
    result = millstream.run(job, {"rows": [[], [{"id": 1, "x": 2}, {"id": 2, "x": 2}]]})
    assert result["out"].epochs == [[], [{"ratio": 2.0}]]


@pytest.mark.parametrize("mode", [None, ms.batch()])
def test_rows_that_cannot_be_divided_by_fail_as_ever(millstream: Runner, mode: ms.Mode | None) -> None:
    with pytest.raises(ms.MillstreamError, match="MS-EXPR-009"):
        millstream.run(counting(), {"rows": [{"id": 1, "x": None}]}, mode=mode)


@pytest.mark.slow
def test_in_real_time(tmp_path: Path, spark: SparkSession) -> None:
    path = str(tmp_path)
    for topic in ("rows", "out"):
        journal.create(path, topic, 1)
    run = counting(path).start(ms.real_time("500 ms"), spark=spark)
    written: list[object] = []
    while NOTHING not in written:
        assert not run.poll(0.1)
        written = [record.json() for record in journal.read(path, "out")]
    with journal.producer(path, "rows") as producer:
        producer.send({"id": 1, "x": 2}, key={"id": 1})
        producer.send({"id": 2, "x": 3}, key={"id": 2})
    while TWO not in written:
        assert not run.poll(0.1)
        written = [record.json() for record in journal.read(path, "out")]
    run.stop()
