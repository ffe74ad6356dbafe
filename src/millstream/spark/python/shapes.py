"""The rows that users' code gives: checked one by one, written as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructType

from millstream.spark.python.compiled import row_check
from millstream.spark.python.failures import WrongValue, short
from millstream.spark.python.fits import fits
from millstream.spark.python.rows import encode

SHAPE = "MS-PROCESS-102"
SEQUENCES = (tuple, list)


class RowShape:
    """The columns that a row must have."""

    def __init__(self, schema: StructType) -> None:
        self.schema = schema
        self.names = tuple(schema.names)
        self.types = [part.dataType for part in schema.fields]
        self.checks = [fits(type_) for type_ in self.types]
        self.width = len(self.names)
        self.known = frozenset(self.names)
        self.arrow = arrow(schema)
        self.row = row_check(schema, self.looked_at)
        """A dict or tuple as a tuple in the columns' order; refused if it does not fit."""

    def looked_at(self, given: Any) -> tuple[Any, ...]:
        """The same for a row that is not right at first sight."""
        if type(given) is dict:
            if given.keys() != self.known:
                raise WrongValue(SHAPE, self.wrong_columns(given))
            values = tuple([given[name] for name in self.names])
        elif isinstance(given, SEQUENCES):
            if len(given) != self.width:
                raise WrongValue(SHAPE, f"gave {len(given)} values for {self.width} columns: {', '.join(self.names)}")
            values = tuple(given)
        else:
            raise WrongValue(SHAPE, f"gave {short(given)}, which is neither a dict nor a tuple")
        for check, value in zip(self.checks, values, strict=True):
            if value is not None and not check(value):
                raise WrongValue(SHAPE, self.wrong_type(values))
        return values

    def wrong_columns(self, given: dict[str, Any]) -> str:
        missing = [name for name in self.names if name not in given]
        extra = [str(name) for name in given if name not in self.known]
        parts = [f"without {', '.join(missing)}" if missing else "", f"with {', '.join(extra)}" if extra else ""]
        return f"gave a row {' and '.join(part for part in parts if part)}; its columns are {', '.join(self.names)}"

    def wrong_type(self, values: tuple[Any, ...]) -> str:
        for name, type_, check, value in zip(self.names, self.types, self.checks, values, strict=True):
            if value is not None and not check(value):
                return f"gave {short(value)} for column {name}, which is of type {type_.simpleString().upper()}"
        return "gave a row that does not fit"

    def column(self, rows: Sequence[tuple[Any, ...] | None]) -> pa.Array:
        return encode(rows, self.arrow)

    def structs(self, rows: Sequence[tuple[Any, ...]]) -> pa.Array:
        """Rows that were checked, in one column."""
        return pa.StructArray.from_arrays(self.columns(rows), fields=list(self.arrow))

    def columns(self, rows: Sequence[tuple[Any, ...]]) -> list[pa.Array]:
        """Rows that were checked, column by column."""
        parts: Iterable[Any] = zip(*rows, strict=True) if rows else [()] * self.width
        return [encode(part, field.type) for part, field in zip(parts, self.arrow, strict=True)]


def arrow(type_: DataType) -> pa.DataType:
    """As Spark writes it: instants in UTC."""
    return to_arrow_type(type_, timezone="UTC")
