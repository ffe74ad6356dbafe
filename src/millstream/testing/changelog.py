"""Sums changes up: weighted rows into a multiset, upserts by key into a table. What cannot be taken back fails."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from millstream.errors import MillstreamError
from millstream.journal.record import Record

Rows = Counter[str]
"""A multiset of rows, each as text: JSON with its names in order."""

DIGITS = 12
"""Floating-point numbers that agree to this many digits are equal: sums depend on the order of their terms."""


def text(row: Mapping[str, Any]) -> str:
    """A row as text, the same for equal rows."""
    return json.dumps({name: plain(value) for name, value in row.items()}, sort_keys=True, ensure_ascii=False)


def plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") + 0.0  # and -0.0 is 0.0
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def absent(row: str, where: str) -> MillstreamError:
    return MillstreamError(
        "MS-TEST-001",
        f"a change{where} takes back a row that is not there: {row}",
        hint="the sender retracted a row that it never sent, or more often than it sent it",
    )


class Changelog:
    """The sum of weighted rows so far."""

    def __init__(self) -> None:
        self.rows: Rows = Counter()

    def change(self, row: Mapping[str, Any], weight: int, where: str = "") -> None:
        """Adds a row `weight` times, or takes it back."""
        name = text(row)
        count = self.rows[name] + weight
        if count < 0:
            raise absent(name, where)
        if count:
            self.rows[name] = count
        else:
            del self.rows[name]

    def read(self, records: Iterable[Record]) -> None:
        """Adds the records of a topic: rows with an `op`, insert or delete."""
        for record in records:
            row = record.json()
            if not isinstance(row, dict) or row.get("op") not in ("insert", "delete"):
                raise MillstreamError("MS-TEST-002", f"not a change with an op{place(record)}: {record.value!r}")
            weight = 1 if row.pop("op") == "insert" else -1
            self.change(row, weight, place(record))


class Upserts:
    """The rows that a topic of upserts leaves: the last one of each key, unless it is a tombstone."""

    def __init__(self) -> None:
        self.table: dict[str, str] = {}

    @property
    def rows(self) -> Rows:
        return Counter(self.table.values())

    def put(self, key: Mapping[str, Any], row: Mapping[str, Any] | None, where: str = "") -> None:
        """Sets the row of a key; None deletes it, and it must be there."""
        name = text(key)
        if row is not None:
            self.table[name] = text(row)
        elif self.table.pop(name, None) is None:
            raise absent(f"the one of key {name}", where)

    def read(self, records: Iterable[Record]) -> None:
        """Adds the records of a topic, in its order."""
        for record in records:
            if record.key is None:
                raise MillstreamError("MS-TEST-002", f"an upsert without a key{place(record)}: {record.value!r}")
            self.put(json.loads(record.key), record.json(), place(record))


class Appends:
    """The rows of a topic that is only ever added to."""

    def __init__(self) -> None:
        self.rows: Rows = Counter()

    def read(self, records: Iterable[Record]) -> None:
        for record in records:
            self.rows[text(record.json())] += 1


def place(record: Record) -> str:
    return f" at offset {record.offset} of partition {record.partition}"


def difference(expected: Rows, found: Rows, most: int = 10) -> list[str]:
    """What is missing and what is too much, a line each; nothing if they are the same."""
    lines = []
    for what, rows in (("missing", expected - found), ("extra", found - expected)):
        listed = sorted(rows.items())
        lines += [f"{what}: {row}" + (f" ({count} times)" if count > 1 else "") for row, count in listed[:most]]
        if len(listed) > most:
            lines.append(f"{what}: and {len(listed) - most} other rows")
    return lines
