"""A job with groups, windows, timers and Python code, whose every epoch has two orders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import millstream as ms
from millstream import journal

ROWS = [
    ("ann", 5, "00:00:10"),
    ("bob", 7, "00:00:20"),
    ("ann", 1, "00:01:10"),
    ("cid", 2, "00:01:30"),
    ("bob", 3, "00:02:05"),
    ("ann", 9, "00:03:40"),
]
"""Customer, price and time, two to an epoch."""


class Recent(ms.Process):
    """The prices of a customer, in a list."""

    output = "customer STRING, prices INT"
    prices = ms.ListState("INT")

    def on_row(self, key: str, row: Any) -> Iterator[Any]:
        self.prices.append(row.price)
        yield key, len(self.prices)


class Orders:
    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, str(folder / "journal")
        for topic in ("orders", "totals", "minutes", "recent"):
            journal.create(self.path, topic)

    def feed(self, rows: list[tuple[str, int, str]]) -> None:
        with journal.producer(self.path, "orders") as producer:
            for customer, price, at in rows:
                producer.send({"customer": customer, "price": price, "at": f"2026-01-01T{at}Z"})

    def job(self) -> ms.Job:
        job = ms.Job("orders", checkpoint=str(self.folder / "checkpoint"))
        source = journal.source("orders", path=self.path, max_rows_per_epoch=2)
        orders = job.stream(source, "customer STRING, price INT, at TIMESTAMP", time="at")
        totals = orders.group_by("customer").agg(n="count(*)", price="sum(price)").named("totals")
        totals.to(journal.sink("totals", path=self.path))
        minutes = orders.window(ms.tumbling("1 minute")).group_by("customer").agg(n="count(*)").named("minutes")
        minutes.final().to(journal.sink("minutes", path=self.path))
        orders.key_by("customer").process(Recent, name="recent").to(journal.sink("recent", path=self.path))
        return job

    def written(self) -> dict[str, list[Any]]:
        """All that its sinks have, in order."""
        topics = ("totals", "minutes", "recent")
        return {topic: [record.value for record in journal.read(self.path, topic)] for topic in topics}

    def files(self) -> dict[str, int]:
        """All that is in the folder, with when it was written."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.stat().st_mtime_ns for path in files}
