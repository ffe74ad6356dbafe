"""A job with all kinds of state: joins, first rows, windows, sessions, Python code with timers of both kinds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import millstream as ms
from millstream import journal

ORDERS = "customer STRING, product STRING, price DECIMAL(10, 2), at TIMESTAMP"
SINKS = ("pairs", "dearest", "hourly", "visits", "seen")


class Seen(ms.Process):
    """What a customer has bought, in state of every kind."""

    output = "customer STRING, products INT, orders INT, last STRING"
    products = ms.MapState("STRING", "STRUCT<n: INT, price: DECIMAL(10, 2)>")
    prices = ms.ListState("DECIMAL(10, 2)")
    last = ms.ValueState("STRING")

    def on_row(self, key: str, row: Any) -> Iterator[Any]:
        old = self.products.get(row.product)
        self.products[row.product] = (1 if old is None else old.n + 1, row.price)
        self.prices.append(row.price)
        yield key, len(self.products), len(self.prices.get()), self.last.get()
        self.last.set(row.product)
        self.set_timer(row.at + timedelta(days=2))
        self.set_processing_timer(self.now + timedelta(days=400))

    def on_timer(self, key: str, at: Any) -> Iterator[Any]:
        yield key, -1, len(self.prices.get()), "timer"

    def on_processing_timer(self, key: str, at: Any) -> Iterator[Any]:
        yield key, -1, -1, "clock"


class Shop:
    """The job's journal, and the job in as many versions as a test wants."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = str(folder / "journal")
        self.sent = 0
        for topic in ("orders", *SINKS):
            journal.create(self.path, topic, 2)

    def feed(self, count: int, seed: int = 1) -> None:
        """Orders of a few customers, an order every 10 minutes."""
        chance = random.Random(seed + self.sent)
        with journal.producer(self.path, "orders") as producer:
            for number in range(self.sent, self.sent + count):
                product = chance.choice(("ham", "egg", "tea"))
                at = f"2026-01-{1 + number // 144:02}T{number // 6 % 24:02}:{number % 6}0:00"
                row = {"customer": f"c{chance.randrange(9)}", "product": product, "price": chance.randrange(500) / 100}
                producer.send({**row, "at": at})
        self.sent += count

    def job(self, checkpoint: str = "checkpoint", *, parallelism: int = 2, python: bool = True) -> ms.Job:
        job = ms.Job("shop", checkpoint=str(self.folder / checkpoint), parallelism=parallelism)
        source = journal.source("orders", path=self.path, max_rows_per_epoch=40)
        orders = job.stream(source, ORDERS, time="at", lateness="1 hour")
        pairs = orders.as_("a").join(orders.as_("b"), on="a.customer = b.customer AND a.product < b.product")
        both = pairs.named("both")
        both.select("a.customer", a="a.price", b="b.price").to(self.sink("pairs"))
        totals = orders.group_by("customer").agg(n="count(*)", most="max(price)").named("totals")
        totals.top(3, by="most DESC, customer").named("dearest").to(self.sink("dearest", changelog=True))
        hours = orders.window(ms.tumbling("1 hour")).group_by("product").agg(n="count(*)").named("hourly")
        hours.final().to(self.sink("hourly"))
        visits = orders.window(ms.session("2 hours")).group_by("customer").agg(n="count(*)").named("visits")
        visits.final().to(self.sink("visits"))
        if python:
            orders.key_by("customer").process(Seen, name="seen").to(self.sink("seen"))
        return job

    def sink(self, topic: str, *, changelog: bool = False) -> Any:
        return journal.sink(topic, path=self.path, changelog=changelog)
