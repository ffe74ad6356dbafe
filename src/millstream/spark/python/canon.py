"""Values as they will come back from where state is kept: so that code sees the same before and after."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC
from decimal import Decimal
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    StructType,
    TimestampType,
)

from millstream.spark.python.rows import row_class

Canon = Callable[[Any], Any]


def canon(type_: DataType) -> Canon | None:
    """How a value that fits is brought into its one form; None: it is in it already."""
    if isinstance(type_, StructType):
        return struct_canon(type_)
    if isinstance(type_, ArrayType):
        inner = or_none(canon(type_.elementType))
        return lambda value: [inner(item) for item in value]
    if isinstance(type_, MapType):
        key, item = or_none(canon(type_.keyType)), or_none(canon(type_.valueType))
        return lambda value: {key(k): item(v) for k, v in value.items()}
    if isinstance(type_, DecimalType):
        unit = Decimal(1).scaleb(-type_.scale)
        return lambda value: Decimal(value).quantize(unit)
    return SIMPLE.get(type(type_))


def struct_canon(type_: StructType) -> Canon:
    names = tuple(type_.names)
    parts = [or_none(canon(part.dataType)) for part in type_.fields]
    row = row_class(names)

    def form(value: Any) -> Any:
        given = [value[name] for name in names] if isinstance(value, dict) else value
        return tuple.__new__(row, [part(item) for part, item in zip(parts, given, strict=True)])

    return form


def or_none(form: Canon | None) -> Canon:
    if form is None:
        return lambda value: value
    return lambda value: None if value is None else form(value)


SIMPLE: dict[type[DataType], Canon] = {
    BinaryType: bytes,
    DoubleType: float,
    FloatType: lambda value: struct.unpack("f", struct.pack("f", value))[0],
    TimestampType: lambda value: value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC),
}
