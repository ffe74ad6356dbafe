"""Calls a user's function for every row of an Arrow column: `map`, `flat_map` and `filter`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.accumulators import Accumulator
from pyspark.sql.types import StructType

from millstream.spark.python.failures import ERROR, Failure, WrongValue, current_line, first_line, short
from millstream.spark.python.rows import decoder, offsets, row_class
from millstream.spark.python.shapes import SHAPE, RowShape
from millstream.spark.python.ship import Shipped

Results = list[tuple[int, tuple[Any, ...] | None, tuple[Any, ...] | None]]
"""Which row of the input, what was made of it, or how that failed."""


@dataclass(frozen=True)
class Caller:
    """Takes lists of rows; gives, for each list, what became of its rows: `i`, `row`, `error`."""

    step: str
    kind: str
    shipped: Shipped
    names: tuple[str, ...]
    schema: str
    batches: bool
    on_error: str
    skipped: Accumulator[int]

    def __call__(self, column: pa.Array) -> pa.Array:
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        rows = column.flatten()
        found = self.of_batch(rows) if self.batches else self.of_rows(self.decoded(rows))
        return self.column(found, [length or 0 for length in column.value_lengths().to_pylist()])

    @cached_property
    def function(self) -> Callable[..., Any]:
        function: Callable[..., Any] = self.shipped.load()
        return function

    @cached_property
    def shape(self) -> RowShape:
        return RowShape(StructType.fromJson(__import__("json").loads(self.schema)))

    def decoded(self, rows: pa.StructArray) -> list[Any]:
        parts = [decoder(part.type)(part) for part in rows.flatten()]
        return list(map(row_class(self.names)._make, zip(*parts, strict=True)))  # type: ignore[attr-defined]

    def of_rows(self, rows: list[Any]) -> Results:
        found: Results = []
        given: Iterable[tuple[Any, ...] | None]
        for i, row in enumerate(rows):
            try:
                given = list(self.results(self.function(row)))
            except Exception as error:
                letter = self.failed(error, row)
                if letter is not None:
                    found.append((i, None, letter))
                continue
            found += [(i, one, None) for one in given]
        return found

    def results(self, given: Any) -> Iterator[tuple[Any, ...] | None]:
        """The rows that one call gave; for a filter, None if the row is kept."""
        if self.kind == "filter":
            if not isinstance(given, bool):
                raise WrongValue(SHAPE, f"gave {short(given)}, which is neither True nor False")
            if given:
                yield None
        elif self.kind == "map":
            yield self.shape.row(given)
        else:
            if isinstance(given, dict | str) or not isinstance(given, Iterable):
                raise WrongValue(SHAPE, f"gave {short(given)}, which is no list of rows")
            for row in given:
                yield self.checked(row, given)

    def checked(self, row: Any, given: Any) -> tuple[Any, ...]:
        try:
            return self.shape.row(row)
        except WrongValue as error:
            error.add_note(current_line(given) or "")
            raise

    def failed(self, error: Exception, row: Any) -> tuple[Any, ...] | None:
        """The dead letter of a row, if one is wanted."""
        noted = [note for note in getattr(error, "__notes__", []) if note]
        line = (noted[0] if noted else first_line(self.function)) if isinstance(error, WrongValue) else None
        failure = Failure(self.step, f"{self.kind}()", None, row, error, line)
        if self.on_error == "fail":
            raise failure.raised() from error
        if self.on_error == "skip":
            self.skipped.add(1)
            return None
        return failure.letter()

    def of_batch(self, rows: pa.StructArray) -> Results:
        """The function sees many rows at once; what fails is not known to be one row's fault."""
        try:
            return self.of_whole(rows)
        except Exception as error:
            if self.on_error != "fail":
                return self.of_each(rows)
            line = first_line(self.function) if isinstance(error, WrongValue | pa.ArrowException) else None
            raise Failure(self.step, f"{self.kind}()", None, None, error, line).raised() from error

    def of_whole(self, rows: pa.StructArray) -> Results:
        given = self.function(pa.RecordBatch.from_arrays(rows.flatten(), names=list(self.names)))
        if self.kind == "filter":
            kept = pa.array(given, pa.bool_()) if not isinstance(given, pa.Array) else given
            self.same_length(len(kept), len(rows))
            return [(i, None, None) for i, keep in enumerate(kept.to_pylist()) if keep]
        return [(i, row, None) for i, row in enumerate(self.table(given, len(rows)))]

    def of_each(self, rows: pa.StructArray) -> Results:
        """Which rows a batch failed for: each is a batch by itself."""
        found: Results = []
        for i in range(len(rows)):
            one = rows.slice(i, 1)
            try:
                found += [(i, row, error) for _, row, error in self.of_whole(one)]
            except Exception as error:
                letter = self.failed(error, self.decoded(one)[0])
                found += [(i, None, letter)] if letter is not None else []
        return found

    def same_length(self, found: int, wanted: int) -> None:
        if found != wanted:
            raise WrongValue(SHAPE, f"gave {found} rows for {wanted}")

    def table(self, given: Any, wanted: int) -> list[Any]:
        if not isinstance(given, pa.RecordBatch | pa.Table):
            raise WrongValue(SHAPE, f"gave {short(given)}, which is no Arrow batch")
        self.same_length(given.num_rows, wanted)
        if set(given.schema.names) != self.shape.known:
            raise WrongValue(SHAPE, self.shape.wrong_columns(dict.fromkeys(given.schema.names)))
        parts = []
        for name, field in zip(self.shape.names, self.shape.arrow, strict=True):
            part = given.column(name).cast(field.type)
            parts.append(decoder(field.type)(part.combine_chunks() if isinstance(part, pa.ChunkedArray) else part))
        return list(zip(*parts, strict=True))

    def column(self, found: Results, lengths: list[int]) -> pa.Array:
        """Results back in the lists that their rows came in, each with its row's place in the list."""
        starts = [0]
        for length in lengths:
            starts.append(starts[-1] + length)
        lists: list[list[int]] = [[] for _ in lengths]
        places = []
        at = 0
        for n, (i, _, _) in enumerate(found):
            while i >= starts[at + 1]:
                at += 1
            lists[at].append(n)
            places.append(i - starts[at])
        names = ["i", "error"] if self.kind == "filter" else ["i", "row", "error"]
        columns = [pa.array(places, pa.int32()), RowShape(ERROR).column([error for _, _, error in found])]
        if self.kind != "filter":
            columns.insert(1, self.shape.column([row for _, row, _ in found]))
        return pa.ListArray.from_arrays(offsets(lists), pa.StructArray.from_arrays(columns, names=names))
