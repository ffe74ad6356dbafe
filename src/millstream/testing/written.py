"""What a job wrote in a test: by sink and epoch, and what is there after each.

Rows of an epoch have no order; here they are sorted, deletes first.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.errors import MillstreamError, did_you_mean
from millstream.plan.errors import here
from millstream.plan.nodes import Sink
from millstream.testing.changelog import absent, text
from millstream.testing.given import Delete, Row

Written = Row | Delete


@dataclass(frozen=True)
class Output:
    """What one sink received.

    `epochs[1]`: what the second epoch wrote. A stream: rows. A table: the new row of each key that changed, and
    `Delete(key)`; as a changelog, rows that came and `Delete(row)`. `tables[1]`: all that is there after it.
    """

    # A test knows whether it has a row or a Delete: Any spares it to ask.
    epochs: list[list[Row | Any]] = field(default_factory=list)
    tables: list[list[Row]] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        """All that is there at the end."""
        return self.tables[-1]


class Result(Mapping[str, Output]):
    """What a job wrote: `result["matches"].rows`.

    `late`: for each step with windows, how many rows came too late. `skipped`: for each source that skips records that
    it cannot read, how many.
    """

    def __init__(self, outputs: dict[str, Output], late: dict[str, int], skipped: dict[str, int]) -> None:
        self.outputs = outputs
        self.late = late
        self.skipped = skipped

    def __getitem__(self, sink: str) -> Output:
        if sink not in self.outputs:
            raise MillstreamError(
                "MS-TEST-004",
                f'the job has no sink "{sink}".',
                at=here(),
                found="sinks: " + ", ".join(self.outputs),
                hint=did_you_mean(sink, self.outputs),
            )
        return self.outputs[sink]

    def __contains__(self, sink: object) -> bool:
        return sink in self.outputs

    def __iter__(self) -> Iterator[str]:
        return iter(self.outputs)

    def __len__(self) -> int:
        return len(self.outputs)

    def __repr__(self) -> str:
        return f"Result({self.outputs!r})"


def read(sink: Sink, kept: str, epochs: int, steps: int) -> Output:
    """What the kernel kept, by epoch of the test, each of which is `steps` epochs of Spark."""
    found: dict[str, list[list[str | None]]] = json.loads(kept)
    output, table = Output(), Held(sink)
    for epoch in range(epochs):
        last = epoch == epochs - 1
        mine = [int(n) for n in found if int(n) // steps == epoch or (last and int(n) // steps > epoch)]
        records = [written(sink, *map(decoded, entry)) for n in sorted(mine) for entry in found[str(n)]]
        changes = table.net(records)
        for record in records:
            table.take(*record)
        output.epochs.append(in_order(changes))
        output.tables.append(table.rows())
    return output


def decoded(data: str | None) -> bytes | None:
    return None if data is None else base64.b64decode(data)


def written(sink: Sink, key: bytes | None, value: bytes | None) -> tuple[Row, Written]:
    """The record's key, and what it does."""
    if sink.options.format == "raw":
        return {}, {"key": key, "value": value}
    name: Row = json.loads(key) if key is not None else {}
    if value is None:
        return name, Delete(name)
    loaded = json.loads(value)
    row = {column.name: loaded[column.name] for column in sink.columns}
    return name, Delete(row) if sink.mode == "changelog" and loaded["op"] == "delete" else row


class Held:
    """What is in a sink so far."""

    def __init__(self, sink: Sink) -> None:
        self._mode = sink.mode
        self._held: dict[str, list[Row]] = {}

    def take(self, key: Row, change: Written) -> None:
        gone = isinstance(change, Delete)
        row: Row = change.row if isinstance(change, Delete) else change
        there = self._held.setdefault(text(key) if self._mode == "upsert" else repr(row), [])
        if gone and not there:
            raise absent(repr(row), " of the job")
        if gone or self._mode == "upsert":
            del there[-1:]
        if not gone:
            there.append(row)

    def net(self, records: list[tuple[Row, Written]]) -> list[Written]:
        """What records change in all, for what is held: several epochs of Spark's may correct each other."""
        if self._mode == "append":
            return [change for _, change in records]
        if self._mode == "upsert":
            last = {text(key): change for key, change in records}
            return [last[name] for name in last if self._held.get(name) or not isinstance(last[name], Delete)]
        counts: Counter[str] = Counter()
        rows: dict[str, Row] = {}
        for _, change in records:
            row = change.row if isinstance(change, Delete) else change
            rows[repr(row)] = row
            counts[repr(row)] += -1 if isinstance(change, Delete) else 1
        deletes: list[Written] = [Delete(rows[name]) for name, count in counts.items() for _ in range(-count)]
        return [*deletes, *(rows[name] for name, count in counts.items() for _ in range(count))]

    def rows(self) -> list[Row]:
        return sorted((row for rows in self._held.values() for row in rows), key=rank)


def in_order(changes: list[Written]) -> list[Written]:
    deletes = [part for part in changes if isinstance(part, Delete)]
    rows = [part for part in changes if not isinstance(part, Delete)]
    return [*sorted(deletes, key=lambda part: rank(part.row)), *sorted(rows, key=rank)]


def rank(value: Any) -> Any:
    """Sorts rows by their columns; NULL first, numbers before text."""
    match value:
        case None:
            return (0,)
        case bool() | int() | float():
            return (1, value)
        case Mapping():
            return (4, [rank(part) for part in value.values()])
        case list():
            return (3, [rank(part) for part in value])
        case _:
            return (2, value if isinstance(value, str) else repr(value))
