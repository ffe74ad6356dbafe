"""Batch: all rows of a key at once, in the order of their time, with state in plain dicts. The judge of `runner`."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa

from millstream.spark.python.calls import ENDLESS, Calls
from millstream.spark.python.columns import ColumnRunner
from millstream.spark.python.failures import WrongValue, short
from millstream.spark.python.fits import fits
from millstream.spark.python.rows import EPOCH, decoder, encode, row_class
from millstream.spark.python.shapes import arrow
from millstream.spark.python.spec import ProcessSpec, Variable

STATE = "MS-PROCESS-103"


@dataclass
class Kept:
    """The items of one variable: by key, or by number."""

    var: Variable
    around: Around
    entries: dict[Any, tuple[Any, float]] = field(default_factory=dict)
    number: int = 0

    def sees(self, until: float) -> bool:
        return self.around.time < until

    def get(self, key: Any) -> Any:
        if self.var.kind == "map" and (key is None or not fits(self.var.key_type)(key)):
            raise WrongValue(STATE, f"state {self.var.name} has no key {short(key)}")
        value, until = self.entries.get(key, (None, 0.0))
        return value if self.sees(until) else None

    def put(self, key: Any, value: Any) -> None:
        if value is None or not fits(self.var.data_type)(value):
            raise WrongValue(STATE, f"state {self.var.name} cannot hold {short(value)}")
        if self.var.kind == "list":
            self.number += 1
            key = self.number
        elif self.var.kind == "map":
            self.get(key)
        until = float("inf") if self.var.ttl_ms is None else self.around.time + self.var.ttl_ms
        self.entries[key] = (plain(value, self.var), until)

    def remove(self, key: Any) -> None:
        self.entries.pop(key, None)

    def items(self) -> list[tuple[Any, Any]]:
        return [(key, value) for key, (value, until) in self.entries.items() if self.sees(until)]

    def clear(self) -> None:
        self.entries = {}


def plain(value: Any, var: Variable) -> Any:
    """As it would come back from where state is kept."""
    type_ = arrow(var.data_type)
    return decoder(type_)(encode([value], type_))[0]


class Around:
    """What a process is told and asks for."""

    def __init__(self) -> None:
        self.time = 0.0
        self.watermark: datetime | None = None
        self.now = EPOCH
        self.timers: set[datetime] = set()
        self.ringing: datetime | None = None

    def set_timer(self, at: datetime) -> None:
        at = at if at.tzinfo else at.replace(tzinfo=EPOCH.tzinfo)
        if at == self.ringing:
            raise ValueError(ENDLESS)
        self.timers.add(at)

    def delete_timer(self, at: datetime) -> None:
        self.timers.discard(at if at.tzinfo else at.replace(tzinfo=EPOCH.tzinfo))

    def set_processing_timer(self, at: datetime) -> None:
        """By the clock, all rows come at once: there is no later."""

    def delete_processing_timer(self, at: datetime) -> None: ...

    def move(self, at: datetime) -> None:
        self.time = (at - EPOCH).total_seconds() * 1000


class Whole:
    """Takes keys with all their rows; gives all rows that come of them."""

    def __init__(self, spec: ProcessSpec) -> None:
        self.spec = spec

    def __call__(self, groups: pa.Array) -> pa.Array:
        if self.spec.batches:
            return ColumnRunner(self.spec).whole(groups)
        calls = Calls(self.spec)
        results = []
        for key, rows in decoder(groups.type)(groups):
            self.one(calls, key, rows)
            found, _ = calls.end()
            numbers = range(len(calls.shapes))
            results.append([(n, *(row if n == i else None for i in numbers)) for n, row in found.numbered()])
        return encode(results, pa.list_(arrow(self.spec.output)))

    def one(self, calls: Calls, key: Any, rows: list[Any]) -> None:
        around = Around()
        kept = [Kept(var, around) for var in self.spec.variables]
        process = self.fresh(around, kept)
        named = key[0] if len(key) == 1 else row_class(self.spec.key)._make(key)  # type: ignore[attr-defined]
        make = row_class(self.spec.columns)._make  # type: ignore[attr-defined]
        for time, row in rows:
            if time is not None:
                self.fire(calls, process, named, around, kept, time)
                around.move(time)
            given = make(row)
            self.attempt(calls, process.on_row, named, given, given, kept, around)
            around.watermark = time or around.watermark
        self.fire(calls, process, named, around, kept, None)

    def fresh(self, around: Around, kept: list[Kept]) -> Any:
        given = self.spec.shipped.load()
        process = given() if isinstance(given, type) else given
        process.around = around
        for store in kept:
            bound = copy.copy(getattr(process, store.var.name))
            bound._store = store
            setattr(process, store.var.name, bound)
        return process

    def fire(
        self, calls: Calls, process: Any, key: Any, around: Around, kept: list[Kept], until: datetime | None
    ) -> None:
        """Timers that were to come before a row; None: all that are left."""
        while around.timers and (until is None or min(around.timers) < until):
            at = min(around.timers)
            around.timers.remove(at)
            around.move(at)
            around.watermark = max(at, around.watermark or at)
            around.ringing = at
            self.attempt(calls, process.on_timer, key, at, None, kept, around)
        around.ringing = None

    def attempt(
        self, calls: Calls, function: Any, key: Any, what: Any, row: Any, kept: list[Kept], around: Around
    ) -> None:
        """A call that fails leaves nothing behind."""
        before = [dict(store.entries) for store in kept], set(around.timers)
        if not calls.make(function, key, what, row):
            for store, entries in zip(kept, before[0], strict=True):
                store.entries = entries
            around.timers = before[1]
