"""Runs a process that sees the rows of many keys at once, and state as columns: all of it stays Arrow."""

from __future__ import annotations

import copy
from datetime import datetime
from functools import reduce
from typing import Any

import pyarrow as pa
from pyarrow.compute import and_, struct_field

from millstream.plan.keyed_batch import KeyedBatch
from millstream.spark.python.batches import cast
from millstream.spark.python.failures import Failure, WrongValue, first_line, short
from millstream.spark.python.rows import EPOCH, numbers, to_stream
from millstream.spark.python.runner import instant, made
from millstream.spark.python.shapes import SHAPE, RowShape, arrow
from millstream.spark.python.spec import ProcessSpec, Variable
from millstream.spark.python.stores import STATE


class Column:
    """A state variable of all keys of a batch."""

    def __init__(self, var: Variable) -> None:
        self.var = var
        self.type = arrow(var.data_type)
        self.values = pa.nulls(0, self.type)
        self.changed = False

    def load(self, values: pa.Array) -> None:
        self.values = values
        self.changed = False

    def column(self) -> pa.Array:
        return self.values

    def set_column(self, values: Any) -> None:
        try:
            given = cast(values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values), self.type)
        except (pa.ArrowException, TypeError) as error:
            what = self.var.data_type.simpleString().upper()
            raise WrongValue(
                STATE, f"state {self.var.name} cannot hold {short(values)}: it is of type {what}"
            ) from error
        if len(given) != len(self.values):
            raise WrongValue(STATE, f"state {self.var.name} was given {len(given)} values for {len(self.values)} keys")
        self.values = given
        self.changed = True

    def kept(self) -> pa.Array:
        """As it is kept: beside the time at which it expires, which is never."""
        never = pa.nulls(len(self.values), pa.int64())
        parts = list(arrow(self.var.item))
        return pa.StructArray.from_arrays([self.values, never], fields=parts, mask=self.values.is_null())


class ColumnRunner:
    """One user's process, for as long as its code stays the same."""

    def __init__(self, spec: ProcessSpec) -> None:
        self.spec = spec
        self.shape = RowShape(spec.schemas[0])
        self.columns = [Column(var) for var in spec.variables]
        self.output = pa.schema(list(arrow(spec.output)))
        self.changes = pa.schema(list(arrow(spec.changes)))
        self.values = arrow(spec.values)
        self.now = EPOCH
        self.watermark: datetime | None = None
        self.process = made(spec)
        self.process.around = self
        for column in self.columns:
            bound = copy.copy(getattr(self.process, column.var.name))
            bound._columns = column
            setattr(self.process, column.var.name, bound)

    def run(self, watermark: int, now: int, groups: pa.RecordBatch, rows: pa.RecordBatch) -> tuple[int, bytes, bytes]:
        """A load: nothing is skipped; the rows that came of it, the state that changed."""
        self.now, self.watermark = instant(now), None if watermark <= 0 else instant(watermark)
        for column in self.columns:
            column.load(struct_field(groups.column(4), [f"v_{column.var.name}", "value"]))
        found = self.called(groups.column(0), rows, numbers(groups.column(3)))
        return 0, to_stream(self.written(found), self.output), self.told(groups.num_rows)

    def whole(self, groups: pa.StructArray) -> pa.Array:
        """Batch: keys with all their rows at once. The rows that come of them stand in the list of the first key."""
        for column in self.columns:
            column.load(pa.nulls(len(groups), column.type))
        key, lists = groups.flatten()
        rows = pa.RecordBatch.from_arrays(lists.flatten().field("row").flatten(), names=list(self.spec.columns))
        found = pa.StructArray.from_arrays(
            self.written(self.called(key, rows, numbers(lists.value_lengths()))), fields=list(self.output)
        )
        ends = pa.array([0, *[len(found)] * len(groups)], pa.int32())
        return pa.ListArray.from_arrays(ends, found)

    def called(self, key: pa.StructArray, rows: pa.RecordBatch, counts: list[int]) -> pa.StructArray:
        """The rows that the user's code gives for the rows of these keys. `counts`: how many rows each key has."""
        of = pa.array([at for at, count in enumerate(counts) for _ in range(count)], pa.int32())
        keys = pa.RecordBatch.from_arrays(key.flatten(), names=list(self.spec.key))
        named = pa.RecordBatch.from_arrays(rows.columns, names=list(self.spec.columns))
        function = self.process.on_batch
        try:
            return self.checked(function(KeyedBatch(keys, named, of)))
        except Exception as error:
            line = first_line(function) if isinstance(error, WrongValue | pa.ArrowException) else None
            raise Failure(self.spec.step, "on_batch()", None, None, error, line).raised() from error

    def checked(self, given: Any) -> pa.StructArray:
        if given is None:
            return pa.nulls(0, self.shape.arrow)
        if not isinstance(given, pa.RecordBatch | pa.Table):
            raise WrongValue(SHAPE, f"gave {short(given)}, which is no Arrow batch")
        if set(given.schema.names) != self.shape.known:
            raise WrongValue(SHAPE, self.shape.wrong_columns(dict.fromkeys(given.schema.names)))
        parts = [cast(given.column(part.name), part.type) for part in self.shape.arrow]
        return pa.StructArray.from_arrays(parts, fields=list(self.shape.arrow))

    def written(self, found: pa.StructArray) -> list[pa.Array]:
        others = [pa.nulls(len(found), part.type) for part in list(self.output)[2:]]
        return [pa.repeat(pa.scalar(0, pa.int32()), len(found)), found, *others]

    def told(self, keys: int) -> bytes:
        """The state of all keys, if any of it was set. See ProcessState.java."""
        count = keys if any(column.changed for column in self.columns) else 0
        no_times = pa.ListArray.from_arrays(pa.array([0] * (count + 1), pa.int32()), pa.array([], pa.int64()))
        parts = {"group": pa.array(range(count), pa.int32()), "written": pa.repeat(pa.scalar(True), count)}
        parts["values"] = self.row(no_times) if count else pa.nulls(0, self.values)
        columns = [cast(parts.get(part.name, no_times), part.type) for part in self.changes]
        return to_stream(columns, self.changes)

    def row(self, no_times: pa.Array) -> pa.Array:
        """The row of values of each key; NULL: of that key nothing is kept."""
        kept = [column.kept() for column in self.columns]
        filled = pa.repeat(pa.scalar(0, pa.int64()), len(no_times))
        columns = [filled, pa.nulls(len(no_times), pa.int64()), no_times, no_times, *kept]
        parts = [cast(column, part.type) for column, part in zip(columns, self.values, strict=True)]
        nothing = reduce(and_, (part.is_null() for part in kept))
        return pa.StructArray.from_arrays(parts, fields=list(self.values), mask=nothing)
