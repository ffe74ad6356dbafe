"""Values on their way between Arrow and Python: what goes out comes back, and what does not fit is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
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
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from millstream.spark.python.canon import canon
from millstream.spark.python.compiled import map_loop
from millstream.spark.python.failures import WrongValue
from millstream.spark.python.fits import fits
from millstream.spark.python.rows import decoder, encode, row_class
from millstream.spark.python.shapes import RowShape, arrow
from millstream.spark.python.stores import Clock, ValueStore

POINT = StructType([StructField("x", IntegerType()), StructField("names", ArrayType(StringType()))])
NOON = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
CASES: list[tuple[DataType, list[Any]]] = [
    (BooleanType(), [True, None, False]),
    (ByteType(), [1, -128, 127]),
    (IntegerType(), [1, None, -(2**31)]),
    (LongType(), [2**63 - 1, 0]),
    (DoubleType(), [1.5, None, float("inf")]),
    (FloatType(), [0.5, -2.0]),
    (DecimalType(8, 2), [Decimal("1.50"), None, Decimal("-999999.99")]),
    (StringType(), ["a", None, "ü", ""]),
    (BinaryType(), [b"a", None, b""]),
    (DateType(), [date(2026, 1, 1), None]),
    (TimestampType(), [NOON, None, datetime(1950, 1, 1, tzinfo=UTC)]),
    (TimestampNTZType(), [NOON.replace(tzinfo=None), None]),
    (ArrayType(IntegerType()), [[1, None], None, []]),
    (ArrayType(ArrayType(TimestampType())), [[[NOON, None], None, []], None]),
    (MapType(StringType(), IntegerType()), [{"a": 1, "b": None}, None, {}]),
    (MapType(StringType(), POINT), [{"a": (1, ["n"])}, {"b": None}]),
    (POINT, [(1, ["a", None]), None, (None, None)]),
    (ArrayType(POINT), [[(1, []), None], None, []]),
]


@pytest.mark.parametrize(("type_", "values"), CASES, ids=[type_.simpleString() for type_, _ in CASES])
def test_what_goes_out_comes_back(type_: DataType, values: list[Any]) -> None:
    column = encode(values, arrow(type_))
    column.validate(full=True)
    assert column.type == arrow(type_)
    assert decoder(column.type)(column) == values
    # A slice, as Arrow hands them over, has an offset.
    again = pa.concat_arrays([column, column]).slice(1, len(values))
    assert decoder(column.type)(again) == [*values[1:], values[0]]
    form = canon(type_) or (lambda value: value)
    for value in values:
        if value is not None:
            assert fits(type_)(value)
            assert form(value) == value


WRONG: list[tuple[DataType, Any]] = [
    (BooleanType(), 1),
    (ByteType(), 128),
    (IntegerType(), True),
    (IntegerType(), 1.0),
    (LongType(), 2**63),
    (DoubleType(), "1.0"),
    (DecimalType(4, 2), Decimal("123.00")),
    (DecimalType(4, 2), Decimal("1.234")),
    (DecimalType(4, 2), Decimal("NaN")),
    (DecimalType(4, 2), 100),
    (StringType(), b"a"),
    (DateType(), NOON),
    (TimestampType(), date(2026, 1, 1)),
    (TimestampNTZType(), NOON),
    (ArrayType(IntegerType()), [1, "a"]),
    (MapType(StringType(), IntegerType()), {None: 1}),
    (POINT, {"x": 1}),
    (POINT, (1,)),
    (POINT, (1, "a")),
]


@pytest.mark.parametrize(("type_", "value"), WRONG, ids=[f"{type_.simpleString()} {value}" for type_, value in WRONG])
def test_what_does_not_fit_is_refused(type_: DataType, value: Any) -> None:
    assert not fits(type_)(value)


@pytest.mark.parametrize("type_", [type_ for type_, _ in CASES], ids=[type_.simpleString() for type_, _ in CASES])
def test_code_made_for_a_shape_says_the_same_as_the_long_way(type_: DataType) -> None:
    shape = RowShape(StructType([StructField("a", type_), StructField("b", StringType())]))
    each = map_loop(shape.schema, shape.looked_at)

    def in_loop(given: Any) -> Any:
        found: list[Any] = []
        each(lambda row: given, [1], found.append)
        return found[0]

    values = [value for _, found in CASES for value in found] + [value for _, value in WRONG]
    for value in values:
        for given in ((value, "b"), {"b": None, "a": value}, [value, "b"], (value,), {"a": value}, value):
            outcomes = {repr(outcome(way, given)) for way in (shape.looked_at, shape.row, in_loop)}
            assert len(outcomes) == 1, given


@pytest.mark.parametrize(("type_", "own"), CASES, ids=[type_.simpleString() for type_, _ in CASES])
def test_code_made_for_state_says_the_same_as_the_long_way(type_: DataType, own: list[Any]) -> None:
    """Alone and in columns, whose rows come back with names."""
    values = [value for _, found in CASES for value in found] + [value for _, value in WRONG]
    alone = ValueStore("alone", 0, 0, type_, None, Clock())
    columns = StructType([StructField("a", type_), StructField("b", StringType())])
    rows = ValueStore("rows", 0, 0, columns, None, Clock())
    for value in values:
        assert known(outcome(alone.kept, value)) == known(outcome(alone.looked_at, value)), value
        for given in ((value, "b"), {"b": None, "a": value}, [value, "b"], (value,), {"a": value}, value):
            assert known(outcome(rows.kept, given)) == known(outcome(rows.looked_at, given)), given
    for value in own:
        row = rows.kept((value, "b"))
        assert known(rows.kept(row)) == known(row)


def known(value: Any) -> tuple[type, str]:
    return type(value), repr(value)


def outcome(way: Callable[[Any], Any], given: Any) -> Any:
    try:
        return way(given)
    except WrongValue as error:
        return str(error)


def test_values_are_brought_into_one_form() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=2)))
    assert canon(TimestampType())(elsewhere).tzinfo is UTC  # type: ignore[misc]
    assert canon(TimestampType())(NOON.replace(tzinfo=None)) == NOON  # type: ignore[misc]
    assert str(canon(DecimalType(6, 3))(2)) == "2.000"  # type: ignore[misc]
    point = canon(POINT)({"names": ("a",), "x": 1})  # type: ignore[misc]
    assert (point.x, point["names"], point.asdict()) == (1, ["a"], {"x": 1, "names": ["a"]})


def test_rows_have_names_that_python_would_not_allow() -> None:
    row = row_class(("a.b", "class", "ok"))._make((1, 2, 3))  # type: ignore[attr-defined]
    assert (row["a.b"], row["class"], row.ok, row[2]) == (1, 2, 3, 3)
    assert repr(row) == "Row(a.b=1, class=2, ok=3)"
