"""Whether a Python value can be a value of a SQL type: asked where users hand one over, so that the line is known."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

Fits = Callable[[Any], bool]

SEQUENCES = (list, tuple)
BYTES = (bytes, bytearray)
BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}


def fits(type_: DataType) -> Fits:
    """None fits nowhere here: those who allow it ask before."""
    bits = BITS.get(type(type_))
    if bits is not None:
        return whole(bits)
    if isinstance(type_, DecimalType):
        return decimal(type_)
    if isinstance(type_, ArrayType):
        inner = or_none(fits(type_.elementType))
        return lambda value: isinstance(value, SEQUENCES) and all(map(inner, value))
    if isinstance(type_, MapType):
        key, item = fits(type_.keyType), or_none(fits(type_.valueType))
        return lambda value: isinstance(value, dict) and all(map(key, value)) and all(map(item, value.values()))
    if isinstance(type_, StructType):
        return struct(type_)
    return SIMPLE[type(type_)]


def whole(bits: int) -> Fits:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return lambda value: (type(value) is int or is_whole(value)) and low <= value <= high


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    return type(value) is float or isinstance(value, float) or is_whole(value)


def decimal(type_: DecimalType) -> Fits:
    def check(value: Any) -> bool:
        if is_whole(value):
            return bool(abs(value) < 10 ** (type_.precision - type_.scale))
        if not isinstance(value, Decimal) or not value.is_finite():
            return False
        _, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        return bool(-exponent <= type_.scale and len(digits) + exponent <= type_.precision - type_.scale)

    return check


def struct(type_: StructType) -> Fits:
    names = tuple(type_.names)
    parts = [or_none(fits(part.dataType)) for part in type_.fields]

    def check(value: Any) -> bool:
        if isinstance(value, dict):
            if value.keys() != set(names):
                return False
            value = [value[name] for name in names]
        if not isinstance(value, SEQUENCES) or len(value) != len(parts):
            return False
        return all(part(item) for part, item in zip(parts, value, strict=True))

    return check


def or_none(check: Fits) -> Fits:
    return lambda value: value is None or check(value)


SIMPLE: dict[type[DataType], Fits] = {
    BooleanType: lambda value: isinstance(value, bool),
    FloatType: is_number,
    DoubleType: is_number,
    StringType: lambda value: isinstance(value, str),
    BinaryType: lambda value: isinstance(value, BYTES),
    DateType: lambda value: isinstance(value, date) and not isinstance(value, datetime),
    TimestampType: lambda value: isinstance(value, datetime),
    TimestampNTZType: lambda value: isinstance(value, datetime) and value.tzinfo is None,
}
