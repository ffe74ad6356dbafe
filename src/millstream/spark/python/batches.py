"""A function that is called with many rows at once, as an Arrow batch: what it gives stays Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow.compute import indices_nonzero

from millstream.spark.python.failures import Failure, WrongValue, first_line, short
from millstream.spark.python.found import Found, Letter
from millstream.spark.python.shapes import SHAPE

if TYPE_CHECKING:
    from millstream.spark.python.caller import Caller


class CalledBatch:
    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    def called(self, columns: list[pa.Array]) -> Found:
        """What fails is not known to be one row's fault."""
        caller = self.caller
        try:
            return self.whole(columns)
        except Exception as error:
            if caller.on_error != "fail":
                return self.each(columns)
            line = first_line(caller.function) if isinstance(error, WrongValue | pa.ArrowException) else None
            raise Failure(caller.step, f"{caller.kind}()", None, None, error, line).raised() from error

    def whole(self, columns: list[pa.Array]) -> Found:
        batch = pa.RecordBatch.from_arrays(columns, names=list(self.caller.names))
        given = self.caller.function(batch)
        if self.caller.kind == "filter":
            kept = given if isinstance(given, pa.BooleanArray) else pa.array(truths(given), pa.bool_())
            same_length(len(kept), batch.num_rows)
            of = indices_nonzero(kept)
            return Found(len(of), [], of)
        return Found(batch.num_rows, self.columns(given, batch.num_rows))

    def columns(self, given: Any, wanted: int) -> list[pa.Array]:
        shape = self.caller.shape
        if not isinstance(given, pa.RecordBatch | pa.Table):
            raise WrongValue(SHAPE, f"gave {short(given)}, which is no Arrow batch")
        same_length(given.num_rows, wanted)
        if set(given.schema.names) != shape.known:
            raise WrongValue(SHAPE, shape.wrong_columns(dict.fromkeys(given.schema.names)))
        return [cast(given.column(part.name), part.type) for part in shape.arrow]

    def each(self, columns: list[pa.Array]) -> Found:
        """Which rows a batch failed for: each is a batch by itself."""
        parts: list[Found] = []
        of: list[int] = []
        letters: dict[int, Letter] = {}
        for at in range(len(columns[0])):
            one = [column.slice(at, 1) for column in columns]
            try:
                part = self.whole(one)
            except Exception as error:
                letter = self.caller.failed(error, self.caller.decoded(one)[0])
                if letter is None:
                    continue
                letters[len(of)] = letter
                part = Found(1, [pa.nulls(1, field.type) for field in self.caller.shape.arrow])
            parts.append(part)
            of += [at] * part.count
        return Found(len(of), self.together(parts), of, letters)

    def together(self, parts: list[Found]) -> list[pa.Array]:
        if not parts:
            return [pa.nulls(0, field.type) for field in self.caller.shape.arrow]
        return [pa.concat_arrays(columns) for columns in zip(*(part.columns for part in parts), strict=True)]


def truths(given: Any) -> Any:
    return [bool(keep) for keep in given.to_pylist()] if isinstance(given, pa.Array) else given


def same_length(found: int, wanted: int) -> None:
    if found != wanted:
        raise WrongValue(SHAPE, f"gave {found} rows for {wanted}")


def cast(column: pa.Array | pa.ChunkedArray, type_: pa.DataType) -> pa.Array:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole if whole.type == type_ else whole.cast(type_)
