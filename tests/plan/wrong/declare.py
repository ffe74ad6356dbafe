"""How a job that is refused is declared, and the streams and tables that such jobs are made of."""

from __future__ import annotations

from collections.abc import Callable

import millstream as ms
from millstream import journal

ALL: dict[str, Callable[[], None]] = {}


def wrong(fill: Callable[[ms.Job], None]) -> None:
    ALL[fill.__name__] = lambda: fill(ms.Job("shop"))


def orders(job: ms.Job) -> ms.Stream:
    return job.stream(journal.source("orders"), "id BIGINT, customer INT, price DOUBLE, at TIMESTAMP")


def customers(job: ms.Job) -> ms.Table:
    return job.table(journal.source("customers"), "id INT, name STRING, since TIMESTAMP", key="id")
