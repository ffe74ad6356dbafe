"""A change whose before and after look the same to a reader is not sent to it, in every mode."""

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

SINKS = ("alerts", "counts", "levels", "cards", "cities", "pairs", "first")


def build(**where: Any) -> ms.Job:
    """`busy` is read by several, each of which sees another part of it."""
    job = ms.Job("cards", parallelism=1)
    uses = job.stream(journal.source("uses", **where), "card STRING, city STRING, n INT")
    busy = uses.group_by("card").agg(n="count(*)", total="sum(n)").where("n > 2")
    busy.select("card").changes().to(journal.sink("alerts", **where))
    busy.select("card", "n").changes().to(journal.sink("counts", **where))
    busy.select("card", level="n DIV 5").to(journal.sink("levels", **where, changelog=True))
    uses.group_by("card").agg(n="count(*)").select("card").to(journal.sink("cards", **where))
    cities = uses.to_table("card", by="n").select("card", "city")
    cities.to(journal.sink("cities", **where, changelog=True))
    pairs = busy.as_("b").join(cities.as_("c"), on="b.card = c.card").select("b.card", "c.city")
    pairs.to(journal.sink("pairs", **where, changelog=True))
    uses.top(2, by="n DESC").select("card").to(journal.sink("first", **where, changelog=True))
    return job


ROWS = [{"card": "a", "city": "Rome", "n": n} for n in range(1, 13)]
EXPECTED = {
    "alerts": [("insert", "a")],
    "levels": [("insert", 0), ("delete", 0), ("insert", 1), ("delete", 1), ("insert", 2)],
    "cards": ["a"],
    "cities": [("insert", "Rome")],
    "pairs": [("insert", "Rome")],
    "first": [("insert", "a"), ("insert", "a")],
}


def told(records: dict[str, list[Any]]) -> dict[str, list[Any]]:
    found = {
        "alerts": [(row["op"], row["card"]) for row in records["alerts"]],
        "levels": [(row["op"], row["level"]) for row in records["levels"]],
        "cards": [row["card"] for row in records["cards"]],
        "cities": [(row["op"], row["city"]) for row in records["cities"]],
        "pairs": [(row["op"], row["city"]) for row in records["pairs"]],
        "first": [(row["op"], row["card"]) for row in records["first"]],
    }
    assert len(records["counts"]) > len(ROWS)
    return found


def plain(change: Any) -> dict[str, Any]:
    return {**change.row, "op": "delete"} if isinstance(change, Delete) else {"op": "insert", **change}


@pytest.mark.slow
@pytest.mark.parametrize("restart", [False, True])
def test_epoch_by_epoch(millstream: Runner, restart: bool) -> None:
    result = millstream.run(build(), {"uses": [[row] for row in ROWS]}, restart_between=restart)
    records = {name: [plain(row) for rows in result[name].epochs for row in rows] for name in SINKS}
    assert told(records) == EXPECTED


@pytest.mark.slow
def test_in_real_time(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "journal")
    for topic in ("uses", *SINKS):
        journal.create(path, topic, 1)
    job = build(path=path)
    job.checkpoint = str(tmp_path / "checkpoint")
    run = job.start(ms.real_time("1 second"), spark=spark)
    with journal.producer(path, "uses") as producer:
        for row in ROWS:
            producer.send(row)
    try:
        last = {"op": "insert", "card": "a", "n": 12}
        while last not in [record.json() for record in journal.read(path, "counts")]:
            assert not run.poll(0.1)
    finally:
        run.stop()
    assert told({name: [record.json() for record in journal.read(path, name)] for name in SINKS}) == EXPECTED
