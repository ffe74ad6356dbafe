"""How a job that is refused is declared, and the streams and tables that such jobs are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream as ms
from millstream import journal

ALL: dict[str, Callable[[], Any]] = {}


def wrong(fill: Callable[..., Any]) -> None:
    def build() -> Any:
        return fill(
            ms.Job("shop"),
            *(PIECES[name] for name in fill.__code__.co_varnames[1 : fill.__code__.co_argcount]),
        )

    ALL[fill.__name__] = build


def orders(job: ms.Job) -> ms.Stream:
    return job.stream(journal.source("orders"), "id BIGINT, customer INT, price DOUBLE, at TIMESTAMP")


def customers(job: ms.Job) -> ms.Table:
    return job.table(journal.source("customers"), "id INT, name STRING", key="id")


PIECES: dict[str, Any] = {"orders": orders, "customers": customers}
