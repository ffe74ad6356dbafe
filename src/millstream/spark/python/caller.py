"""Calls a user's function for every row of Arrow batches: `map`, `flat_map` and `filter`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql.types import StructType

from millstream.plan.python import Awaits
from millstream.spark.python.awaited import AwaitEach
from millstream.spark.python.batches import CalledBatch
from millstream.spark.python.failures import ERROR, Failure, WrongValue, first_line
from millstream.spark.python.found import Found, Letter
from millstream.spark.python.garbage import no_garbage_collection
from millstream.spark.python.rows import decoder, offsets, row_class
from millstream.spark.python.shapes import RowShape, arrow
from millstream.spark.python.ship import Shipped
from millstream.spark.python.singly import CALLED_FOR_EACH
from millstream.spark.python.unordered import AwaitAny

LETTER = arrow(ERROR)


class Counter(Protocol):
    def add(self, term: int) -> None: ...


@dataclass
class Tally:
    """Counts until it is read the next time."""

    count: int = 0

    def add(self, term: int) -> None:
        self.count += term

    def take(self) -> int:
        count, self.count = self.count, 0
        return count


@dataclass(frozen=True)
class Caller:
    """A function, and what becomes of rows on which it fails."""

    step: str
    kind: str
    shipped: Shipped
    names: tuple[str, ...]
    schema: str
    batches: bool
    on_error: str
    skipped: Counter
    awaits: Awaits | None = None

    @cached_property
    def function(self) -> Callable[..., Any]:
        function: Callable[..., Any] = self.shipped.load()
        return function

    @cached_property
    def shape(self) -> RowShape:
        return RowShape(StructType.fromJson(json.loads(self.schema)))

    @cached_property
    def called(self) -> Callable[[list[pa.Array]], Found]:
        """How the function is called for the columns of many rows."""
        if self.awaits is not None:
            return AwaitEach(self, self.awaits).called
        return CalledBatch(self).called if self.batches else CALLED_FOR_EACH[self.kind](self).called

    def decoded(self, columns: list[pa.Array]) -> list[Any]:
        parts = [decoder(part.type)(part) for part in columns]
        return list(map(row_class(self.names)._make, zip(*parts, strict=True)))  # type: ignore[attr-defined]

    def failed(self, error: Exception, row: Any) -> Letter | None:
        """The dead letter of a row, if one is wanted; no row: it is not known whose fault it is."""
        noted = [note for note in getattr(error, "__notes__", []) if note]
        line = (noted[0] if noted else first_line(self.function)) if isinstance(error, WrongValue) else None
        failure = Failure(self.step, f"{self.kind}()", None, row, error, line)
        if self.on_error == "fail":
            raise failure.raised() from error
        if self.on_error == "skip":
            self.skipped.add(1)
            return None
        return failure.letter()

    @cached_property
    def unordered(self) -> AwaitAny | None:
        """None: results come in the order of the rows."""
        return None if self.awaits is None or self.awaits.ordered else AwaitAny(self, self.awaits)

    def of_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Of each row, columns that only ride along come first; they, and what a filter keeps, go on beside results."""
        return self.unordered.of_batches(batches) if self.unordered else map(self.of_batch, batches)

    def of_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.unordered:
            return self.unordered.of_batch(batch)
        with no_garbage_collection():
            found = self.called(self.own(batch.columns))
        return self.beside(batch, found)

    def own(self, columns: list[pa.Array]) -> list[pa.Array]:
        """The columns that the function sees: the last ones."""
        return columns[len(columns) - len(self.names) :]

    def beside(self, batch: pa.RecordBatch, found: Found) -> pa.RecordBatch:
        columns = batch.columns
        kept = columns if self.kind == "filter" else columns[: len(columns) - len(self.names)]
        parts = [*found.beside(kept), *found.columns]
        if self.on_error == "dead_letter":
            parts.append(found.errors(LETTER))
        return pa.RecordBatch.from_arrays(parts, names=[f"c{i}" for i in range(len(parts))])

    def of_lists(self, column: pa.Array) -> pa.Array:
        """Takes lists of rows; gives, for each list, what became of its rows: `i`, `row`, `error`."""
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        lengths = [length or 0 for length in column.value_lengths().to_pylist()]
        with no_garbage_collection():
            found = self.called(column.flatten().flatten())
        places, lists = found.in_lists(lengths)
        columns = {"i": pa.array(places, pa.int32()), "error": found.errors(LETTER)}
        if self.kind != "filter":
            columns["row"] = pa.StructArray.from_arrays(found.columns, fields=list(self.shape.arrow))
        struct = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
        return pa.ListArray.from_arrays(offsets(lists), struct)


@dataclass(frozen=True)
class InFlow:
    """A function that is called in real time, by a kernel: for rows, or for lists of rows, that stand in one column."""

    caller: Caller
    lists: bool = False

    @property
    def step(self) -> str:
        return self.caller.step

    @property
    def pending(self) -> int:
        """How many rows are still to be given back."""
        return self.caller.unordered.pending if self.caller.unordered and not self.lists else 0

    def run(self, batch: pa.RecordBatch) -> tuple[int, pa.RecordBatch]:
        """How many rows were skipped, and the results."""
        if self.lists:
            found = pa.RecordBatch.from_arrays([self.caller.of_lists(batch.column(0))], names=["found"])
        else:
            found = self.caller.of_batch(batch)
        assert isinstance(self.caller.skipped, Tally)
        return self.caller.skipped.take(), found
