"""Orders to write, and what the tables must then hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from millstream import journal

Row = tuple[Any, ...]


def send(folder: Path, numbers: Iterable[int]) -> None:
    with journal.producer(folder / "journal", "orders") as producer:
        for n in numbers:
            producer.send({"id": n, "customer": n % 5, "price": n / 4})


def contents(table: Path) -> list[dict[str, Any]]:
    """Not by `to_pyarrow_table`, whose threads may crash the interpreter at exit."""
    if not DeltaTable.is_deltatable(str(table)):
        return []
    found = QueryBuilder().register("t", DeltaTable(str(table))).execute("SELECT * FROM t")
    read: list[dict[str, Any]] = pa.table(found).to_pylist()
    return read


def rows(table: Path) -> Counter[Row]:
    return Counter(tuple(row.values()) for row in contents(table))


def expected(count: int) -> tuple[Counter[Row], Counter[Row]]:
    orders = Counter((n, n % 5, Decimal(n) / 4) for n in range(count))
    spending: Counter[Row] = Counter()
    for customer in range(5):
        mine = [n for n in range(count) if n % 5 == customer]
        if mine and len(mine) % 2 == 0:
            spending[(customer, Decimal(sum(mine)) / 4, len(mine))] += 1
    return orders, spending


def check(folder: Path, count: int) -> None:
    assert (rows(folder / "orders"), rows(folder / "spending")) == expected(count)
