"""A changed job continues from a savepoint: steps renamed, dropped, new; figures in another order; columns added."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.runtime.savepoints.matching import Fate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = ms.Stream | ms.Table
Build = Callable[[ms.Stream, ms.Stream], Rows]
FIRST = [("ann", "tea", 3), ("bob", "ham", 7), ("ann", "egg", 2)]
THEN = [("ann", "ham", 10), ("bob", "tea", 1)]


class Shop:
    """Orders and names of customers; a job in two versions, with a savepoint between them."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self.spark = folder, spark
        self.path = str(folder / "journal")
        for topic in ("orders", "names", "out"):
            journal.create(self.path, topic, 1)
        self.send("names", {"customer": "ann", "name": "Ann"}, {"customer": "bob", "name": "Bob"})

    def send(self, topic: str, *rows: dict[str, Any]) -> None:
        with journal.producer(self.path, topic) as producer:
            for row in rows:
                producer.send(row)

    def buy(self, orders: list[tuple[str, str, int]]) -> None:
        self.send("orders", *({"customer": c, "product": p, "price": n} for c, p, n in orders))

    def job(self, build: Build, checkpoint: str) -> ms.Job:
        job = ms.Job("shop", checkpoint=str(self.folder / checkpoint))
        orders = job.stream(journal.source("orders", path=self.path), "customer STRING, product STRING, price INT")
        names = job.stream(journal.source("names", path=self.path), "customer STRING, name STRING")
        made = build(orders, names)
        made.to(journal.sink("out", path=self.path, changelog=isinstance(made, ms.Table)))
        return job

    def change(self, before: Build, after: Build, **choices: Any) -> dict[str, Fate]:
        """Runs one version, and then the other over more orders; what happened to each step."""
        self.buy(FIRST)
        run = self.job(before, "before").start(ms.available_now(), spark=self.spark)
        run.wait()
        run.savepoint(str(self.folder / "saved"))
        done = self.job(after, "after").restore(str(self.folder / "saved"), spark=self.spark, **choices)
        self.old = len(self.rows())
        self.buy(THEN)
        self.job(after, "after").run(ms.available_now(), spark=self.spark)
        return {change.name: change.fate for change in done.changes if change.what == "operator"}

    def rows(self) -> list[Any]:
        return [record.json() for record in journal.read(self.path, "out")]

    def new(self) -> list[Any]:
        """What the second version wrote, without what it took back."""
        rows = [row for row in self.rows()[self.old :] if row.pop("op", "insert") == "insert"]
        return sorted(rows, key=lambda row: sorted(row.items(), key=str))


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Shop:
    return Shop(tmp_path, spark)


def test_figures_are_found_by_what_they_compute(shop: Shop) -> None:
    def before(orders: ms.Stream, names: ms.Stream) -> Rows:
        return orders.group_by("customer").agg(a="avg(price)", n="count(*)", most="max(price)").named("sums")

    def after(orders: ms.Stream, names: ms.Stream) -> Rows:
        return orders.group_by("customer").agg(most="max(price)", s="sum(price)", a="avg(price)").named("sums")

    assert shop.change(before, after) == {"sums": Fate.CONVERTED}
    assert shop.new() == [
        {"a": 4.0, "customer": "bob", "most": 7, "s": 8},
        {"a": 5.0, "customer": "ann", "most": 10, "s": 15},
    ]


def test_a_figure_of_which_nothing_was_saved_is_refused(shop: Shop) -> None:
    def before(orders: ms.Stream, names: ms.Stream) -> Rows:
        return orders.group_by("customer").agg(n="count(*)").named("sums")

    def after(orders: ms.Stream, names: ms.Stream) -> Rows:
        return orders.group_by("customer").agg(n="count(*)", most="max(price)").named("sums")

    with pytest.raises(ms.MillstreamError, match="MS-SAVEPOINT-008") as caught:
        shop.change(before, after)
    assert re.search(r"it kept count\(.\), and is to keep count\(.\), max\(.*price.*\)\.", str(caught.value))


def test_new_figures_count_from_now_on_if_that_is_said(shop: Shop) -> None:
    """Of every kind: in the group's own value, and in separate state."""

    def before(orders: ms.Stream, names: ms.Stream) -> Rows:
        return orders.group_by("customer").agg(n="count(*)", s="sum(price)").named("sums")

    def after(orders: ms.Stream, names: ms.Stream) -> Rows:
        new = {"m": "max(price)", "c": "count(price)", "d": "count(DISTINCT product)", "l": "collect_set(product)"}
        return orders.group_by("customer").agg(**new, s="sum(price)", a="avg(price)").named("sums")

    assert shop.change(before, after, from_now=["sums"]) == {"sums": Fate.CONVERTED}
    assert shop.new() == [
        {"a": 8.0, "c": 1, "customer": "bob", "d": 1, "l": ["tea"], "m": 1, "s": 8},
        {"a": 15.0, "c": 1, "customer": "ann", "d": 1, "l": ["ham"], "m": 10, "s": 15},
    ]


def test_a_column_that_is_added_is_null_in_old_rows(shop: Shop) -> None:
    def joined(orders: ms.Stream, names: ms.Stream) -> Rows:
        on = "o.customer = p.customer AND o.price < p.price"
        return orders.as_("o").join(orders.as_("p"), on=on).named("dearer")

    def before(orders: ms.Stream, names: ms.Stream) -> Rows:
        return joined(orders, names).select("o.customer", cheap="o.price", dear="p.price")

    def after(orders: ms.Stream, names: ms.Stream) -> Rows:
        return joined(orders, names).select("o.customer", "o.product", cheap="o.price", dear="p.price")

    assert shop.change(before, after) == {"dearer": Fate.CONVERTED}
    assert shop.new() == [
        {"cheap": 1, "customer": "bob", "dear": 7, "product": "tea"},
        {"cheap": 2, "customer": "ann", "dear": 10, "product": None},
        {"cheap": 3, "customer": "ann", "dear": 10, "product": None},
    ]


def test_renamed_dropped_and_new_steps(shop: Shop) -> None:
    on = "o.customer = n.customer"

    def before(orders: ms.Stream, names: ms.Stream) -> Rows:
        once = orders.select("customer", "product").distinct().named("once")
        return once.as_("o").join(names.as_("n"), on=on).named("named").select("n.name", product="o.product")

    def after(orders: ms.Stream, names: ms.Stream) -> Rows:
        joined = orders.as_("o").join(names.as_("n"), on=on).named("whose", was="named")
        return joined.select("n.name", product="o.product").distinct().named("pairs")

    fates = shop.change(before, after, drop=["once"])
    assert fates == {"whose": Fate.RENAMED, "pairs": Fate.NEW, "once": Fate.GONE}
    assert [row["name"] for row in shop.new()] == ["Ann", "Bob"]
