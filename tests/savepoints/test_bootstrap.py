"""State from elsewhere: a job that starts with it behaves like one that has seen all rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream import journal
from tests.savepoints.test_backfill import SCHEMA, order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Build = Callable[[ms.Stream], ms.Stream | ms.Table]
SEEN = [order(number) for number in range(120)]
NEW = [order(number) for number in range(120, 160)]


class Orders:
    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self.spark, self.path = folder, spark, str(folder / "journal")
        for topic in ("orders", "out"):
            journal.create(self.path, topic, 1)

    def feed(self, rows: list[dict[str, Any]]) -> None:
        with journal.producer(self.path, "orders") as producer:
            for row in rows:
                producer.send(row)

    def job(self, build: Build) -> ms.Job:
        job = ms.Job("orders", checkpoint=str(self.folder / "checkpoint"))
        made = build(job.stream(journal.source("orders", path=self.path), SCHEMA, time="at", lateness="0 seconds"))
        made.to(journal.sink("out", path=self.path, changelog=isinstance(made, ms.Table)))
        return job

    def rows(self) -> list[Any]:
        return [record.json() for record in journal.read(self.path, "out")]

    def last(self) -> dict[str, Any]:
        """By customer, the last row."""
        rows = (row for row in self.rows() if row.pop("op", "insert") == "insert")
        return {row["customer"]: row for row in rows}

    def go_on(self, build: Build, /, **states: Any) -> None:
        ms.bootstrap(self.job(build), spark=self.spark, **states)
        self.feed(NEW)
        self.job(build).run(ms.available_now(), spark=self.spark)


@pytest.fixture
def orders(spark: SparkSession, tmp_path: Path) -> Orders:
    return Orders(tmp_path, spark)


def straight(folder: Path, spark: SparkSession, build: Build) -> Orders:
    """A job that has seen all rows, in two runs."""
    folder.mkdir()
    own = Orders(folder, spark)
    for rows in (SEEN, NEW):
        own.feed(rows)
        own.job(build).run(ms.available_now(), spark=spark)
    return own


def totals(orders: ms.Stream) -> ms.Table:
    return orders.group_by("customer").agg(n="count(*)", spent="sum(price)", least="min(price)").named("totals")


def aggregated(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        one = found.setdefault(row["customer"], {"customer": row["customer"], "n": 0, "spent": 0, "least": 99})
        one["n"], one["spent"] = one["n"] + 1, one["spent"] + row["price"]
        one["least"] = min(one["least"], row["price"])
    return list(found.values())


def test_an_aggregate_of_its_results(orders: Orders, spark: SparkSession, tmp_path: Path) -> None:
    """Each new row finds the old result, and takes it back."""
    orders.go_on(totals, totals=spark.createDataFrame(aggregated(SEEN)))
    assert orders.last() == {row["customer"]: row for row in aggregated(SEEN + NEW)}
    before = {row["customer"]: row for row in aggregated(SEEN)}
    for row in orders.rows():
        if row.pop("op") == "delete":
            assert before.pop(row["customer"]) == row
        before[row["customer"]] = row
    assert not (tmp_path / "checkpoint-bootstrap.savepoint").exists()


def test_files_and_the_names_of_state(orders: Orders, tmp_path: Path) -> None:
    names = {"customer": "customer", "n": "count0", "spent": "sum1", "least": "best2"}
    rows = [{names[name]: value for name, value in row.items()} for row in aggregated(SEEN)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "totals.parquet")
    orders.go_on(totals, totals=tmp_path / "totals.parquet")
    assert orders.last() == {row["customer"]: row for row in aggregated(SEEN + NEW)}


def hourly(orders: ms.Stream) -> ms.Stream:
    windows = orders.window(ms.tumbling("1 day")).group_by("customer").agg(n="count(*)")
    return windows.named("daily").final()


def test_windows_that_are_still_open(orders: Orders, spark: SparkSession, tmp_path: Path) -> None:
    wanted = straight(tmp_path / "straight", spark, hourly)
    counts = "customer, timestamp'2026-01-01' AS window_start, timestamp'2026-01-02' AS window_end, n"
    orders.go_on(hourly, daily=spark.createDataFrame(aggregated(SEEN)).selectExpr(*counts.split(", ")))
    found = sorted(orders.rows(), key=str)
    assert found == sorted(wanted.rows(), key=str)
    assert len(found) == 5


class Seen(ms.Process):
    output = "customer STRING, n INT, last INT, dearest INT, prices INT"
    n = ms.ValueState("INT")
    prices = ms.ListState("INT")
    most = ms.MapState("STRING", "INT")

    def on_row(self, key: str, row: Any) -> Iterator[Any]:
        self.n.set(self.n.get(0) + 1)
        before = self.prices.get()
        self.prices.append(row.price)
        self.most["all"] = max(self.most.get("all") or 0, row.price)
        yield key, self.n.get(), before[-1] if before else None, self.most.get("all"), sum(before)


def seen(orders: ms.Stream) -> ms.Stream:
    return orders.key_by("customer").process(Seen, name="seen")


def test_a_process(orders: Orders, spark: SparkSession, tmp_path: Path) -> None:
    wanted = straight(tmp_path / "straight", spark, seen)
    state: dict[str, dict[str, Any]] = {}
    for row in SEEN:
        one = state.setdefault(row["customer"], {"customer": row["customer"], "n": 0, "prices": [], "most": {"all": 0}})
        one["n"] += 1
        one["prices"].append(row["price"])
        one["most"]["all"] = max(one["most"]["all"], row["price"])
    frame = spark.createDataFrame(
        list(state.values()), "customer STRING, n INT, prices ARRAY<INT>, most MAP<STRING, INT>"
    )
    orders.go_on(seen, seen=frame)
    assert sorted(orders.rows(), key=str) == sorted(wanted.rows()[len(SEEN) :], key=str)


def pairs(orders: ms.Stream) -> ms.Stream | ms.Table:
    joined = orders.as_("a").join(orders.as_("b"), on="a.customer = b.customer AND a.price < b.price").named("pairs")
    return joined.select("a.customer", less="a.price", more="b.price")


def test_the_lists_of_a_join_as_they_were_read(orders: Orders, spark: SparkSession, tmp_path: Path) -> None:
    wanted = straight(tmp_path / "straight", spark, pairs)
    (tmp_path / "first").mkdir()
    first = Orders(tmp_path / "first", spark)
    first.feed(SEEN)
    first.job(pairs).run(ms.available_now(), spark=spark)
    with first.job(pairs).state(spark=spark) as state:
        lists = {name: state.frame("pairs", name) for name in ("sides", "left", "right")}
        orders.go_on(pairs, pairs={**lists, "timers": None})
    assert sorted(orders.rows() + first.rows(), key=str) == sorted(wanted.rows(), key=str)


def upon(orders: ms.Stream) -> ms.Table:
    return totals(orders).group_by("n").agg(customers="count(*)").named("how_many")


@pytest.mark.parametrize(
    ("build", "states", "told"),
    [
        (totals, {"total": []}, 'no step "total" with state.*did you mean totals'),
        (totals, {}, "is given no state"),
        (totals, {"totals": aggregated(SEEN)[:1] * 2}, "a key is there twice"),
        (totals, {"totals": [{"customer": "c0", "n": 0, "spent": 1, "least": 1}]}, "count0 is no number of rows"),
        (totals, {"totals": [{"customer": "c0", "n": 1, "least": 1}]}, r"column sum1 is missing.*sum1 \(or spent\)"),
        (totals, {"totals": {"groups": []}}, "no list groups"),
        (pairs, {"pairs": aggregated(SEEN)}, "keeps several lists"),
        (seen, {"seen": aggregated(SEEN)}, "column prices is missing"),
        (upon, {"totals": aggregated(SEEN)}, "MS-SAVEPOINT-008.*how_many.*never seen"),
    ],
)
def test_what_is_refused(build: Build, states: dict[str, Any], told: str, orders: Orders, tmp_path: Path) -> None:
    with pytest.raises(ms.MillstreamError) as caught:
        ms.bootstrap(orders.job(build), states, spark=orders.spark)
    assert re.search(told, str(caught.value), re.DOTALL), caught.value
    assert not (tmp_path / "checkpoint").exists()
