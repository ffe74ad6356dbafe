"""Loads of rows of keys that keep nothing but values: no timers, lists or maps, and nothing that expires.

Most processes have no others. One `Group` then stands for all keys, one after the other; one loop calls the user's code
for all rows of a load; and state goes column by column. A load that has anything else goes the general way.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.spark.python.group import Ask, Group
from millstream.spark.python.rows import encode, numbers, to_stream
from millstream.spark.python.runner import Runner, kept_items
from millstream.spark.python.shapes import arrow
from millstream.spark.python.spec import ProcessSpec

NOTHING = (0, None, (), (), ())


class ValuesOnly(Runner):
    """A process that may have such loads."""

    def __init__(self, spec: ProcessSpec, ask: Ask) -> None:
        super().__init__(spec, ask)
        values = all(var.kind == "value" for var in spec.variables)
        timers = hasattr(self.process, "on_timer") or hasattr(self.process, "on_processing_timer")
        self.simple = self.plain and values and not timers
        self.items = [arrow(var.item) for var in spec.variables]
        self.kept = list(arrow(spec.values))

    def load(self, watermark: int, now: int, groups: pa.RecordBatch, rows: pa.RecordBatch) -> tuple[int, bytes, bytes]:
        if not self.simple or not only_values(groups):
            return super().load(watermark, now, groups, rows)
        self.begin(watermark, now)
        self.clock.time = now
        group = Group(0, NOTHING)
        self.enter(group)
        values = kept_values(groups.column(4), groups.num_rows)
        keys, counts = self.decoded_keys(groups.column(0)), numbers(groups.column(3))
        works = zip(range(len(values)), keys, counts, values, strict=True)
        changed: list[int] = []
        calls = self.calls
        calls.each(calls.of_keys, self.process.on_row, works, iter(self.decoded(rows)), group, changed.append)
        found, skipped = calls.end()
        return skipped, self.written(found), self.told_values(changed, [values[at] for at in changed])

    def told_values(self, places: list[int], values: list[list[Any]]) -> bytes:
        """The new values of the keys at these places. See ProcessState.java."""
        count = len(places)
        no_times = pa.ListArray.from_arrays(pa.array([0] * (count + 1), pa.int32()), pa.array([], pa.int64()))
        columns = {"group": pa.array(places, pa.int32()), "written": pa.repeat(pa.scalar(True), count)}
        columns["values"] = self.row(values, no_times)
        return to_stream([columns.get(name, no_times) for name in self.changes.names], self.changes)

    def row(self, values: list[list[Any]], no_times: pa.ListArray) -> pa.Array:
        """The row of values of each key; NULL: nothing is left of it."""
        count = len(values)
        given = zip(*values, strict=True) if values else [()] * len(self.items)
        items = [encode(column, type_) for column, type_ in zip(given, self.items, strict=True)]
        columns = [pa.repeat(pa.scalar(0, pa.int64()), count), pa.nulls(count, pa.int64()), no_times, no_times, *items]
        nothing = None if all(map(any, values)) else pa.array([not any(of_key) for of_key in values])
        return pa.StructArray.from_arrays(columns, fields=self.kept, mask=nothing)


def only_values(groups: pa.RecordBatch) -> bool:
    """Whether rows have come for all keys, and nothing but values is kept of them."""
    kinds, kept = groups.column(1), groups.column(4)
    filled, clean, timers, clocks = kept.flatten()[:4]
    no_times = clean.null_count == len(clean) and not len(timers.flatten()) and not len(clocks.flatten())
    return no_times and not pc.any(pc.not_equal(kinds, 0)).as_py() and not pc.any(pc.not_equal(filled, 0)).as_py()


def kept_values(column: pa.StructArray, keys: int) -> list[list[Any]]:
    """Of each key, its values, each with its expiry."""
    parts = column.flatten()[4:]
    if column.null_count == keys:
        return [[None] * len(parts) for _ in range(keys)]
    return list(map(list, zip(*map(kept_items, parts), strict=True))) if parts else [[] for _ in range(keys)]
