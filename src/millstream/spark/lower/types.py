"""Types, as Spark finds them by analysing the plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StructType,
    TimestampType,
)

from millstream.errors import Location, MillstreamError
from millstream.plan.connectors import FieldType
from millstream.plan.expressions import field

WHOLE = (ByteType, ShortType, IntegerType, LongType)
FLOATING = (FloatType, DoubleType)
BY_KEY = "(l, r) -> CASE WHEN l.key < r.key THEN -1 WHEN l.key > r.key THEN 1 ELSE 0 END"
"""How entries of a map are sorted."""
Form = Callable[[str, DataType, int], str]
"""Another way to write a value: its SQL, its type, and within how many arrays and maps it is."""


def schema_of(fields: Sequence[FieldType], step: str, at: Location | None, code: str = "MS-PROCESS-002") -> StructType:
    """Declared columns as Spark knows them."""
    ddl = ", ".join(f"{field(part.name)} {part.type}" for part in fields)
    try:
        found = StructType.fromDDL(ddl) if fields else StructType([])
    except Exception as error:
        raise MillstreamError(code, f'step "{step}" has a schema that Spark cannot read: {ddl}.', at=at) from error
    assert isinstance(found, StructType)
    return found


def types_of(frame: DataFrame, expressions: Sequence[str]) -> list[DataType]:
    """The types of SQL expressions over a frame."""
    if not expressions:
        return []
    named = [f"{sql} AS `{i}`" for i, sql in enumerate(expressions)]
    return [part.dataType for part in frame.selectExpr(*named).schema.fields]


def common_type(frame: DataFrame, one: DataType, other: DataType) -> DataType:
    """The type in which Spark would compare two types."""
    if one == other:
        return one
    nulls = f"array({cast('NULL', one)}, {cast('NULL', other)})"
    (array,) = types_of(frame, [nulls])
    assert isinstance(array, ArrayType)
    return array.elementType


def cast(sql: str, type_: DataType) -> str:
    return f"CAST({sql} AS {sql_type(type_)})"


def as_key(sql: str, type_: DataType, depth: int = 0) -> str:
    """The value in the one form that kernels compare by its bytes: NaN is one value, so are the two zeros, and a map's
    entries are in the order of its keys. `depth`: within how many arrays and maps."""
    if sql == "NULL" or not has_forms(type_):
        return sql
    match type_:
        case StructType() | ArrayType():
            return inside(sql, type_, depth, as_key)
        case MapType():
            return f"map_from_entries(array_sort({entries(sql, type_, depth, as_key)}, {BY_KEY}))"
    value, nan, zero = cast(sql, type_), cast("'NaN'", type_), cast("0", type_)
    return f"CASE WHEN isnan({value}) THEN {nan} ELSE {value} + {zero} END"


def has_forms(type_: DataType) -> bool:
    """Whether equal values may differ in their bytes."""
    match type_:
        case StructType():
            return any(has_forms(part.dataType) for part in type_.fields)
        case ArrayType():
            return has_forms(type_.elementType)
    return floating(type_) or isinstance(type_, MapType)


def sortable(sql: str, type_: DataType, depth: int = 0) -> str:
    """The value as plain SQL can sort it, in the order of the kernels: maps are lists of their entries."""
    if not holds_map(type_):
        return sql
    match type_:
        case StructType() | ArrayType():
            return inside(sql, type_, depth, sortable)
    assert isinstance(type_, MapType)
    return entries(sql, type_, depth, sortable)


def inside(sql: str, type_: StructType | ArrayType, depth: int, form: Form) -> str:
    """The same struct or array, with what is in it in another form."""
    if isinstance(type_, ArrayType):
        element = f"_e{depth}"
        return f"transform({sql}, {element} -> {form(element, type_.elementType, depth + 1)})"
    parts = [(part.name, form(f"({sql}).{field(part.name)}", part.dataType, depth)) for part in type_.fields]
    return f"CASE WHEN ({sql}) IS NOT NULL THEN {named_struct(parts)} END"


def entries(sql: str, type_: MapType, depth: int, form: Form) -> str:
    """A map's entries as an array, with its values in another form."""
    element = f"_e{depth}"
    entry = [("key", f"{element}.key"), ("value", form(f"{element}.value", type_.valueType, depth + 1))]
    return f"transform(map_entries({sql}), {element} -> {named_struct(entry)})"


def untimed(sql: str, type_: DataType) -> str:
    """The value with no mark of event time on it: by that mark Spark would leave out old rows, uncounted."""
    return f"timestamp_micros(unix_micros({cast(sql, type_)}))" if isinstance(type_, TimestampType) else sql


def holds_map(type_: DataType) -> bool:
    """Spark gives maps no hash."""
    return isinstance(type_, MapType) or "MAP<" in sql_type(type_)


def spread(fields: Sequence[str], types: Sequence[DataType], buckets: int) -> str:
    """Spreads rows that need not be together over `buckets` groups, by the hash of all fields that have one."""
    hashed = [sql for sql, type_ in zip(fields, types, strict=True) if not holds_map(type_)]
    return f"pmod(hash({', '.join(hashed)}), {buckets})" if hashed else "0"


def sql_type(type_: DataType) -> str:
    """The type as SQL, with field names quoted: a join's fields have dots in them."""
    if isinstance(type_, StructType):
        return "STRUCT<" + ", ".join(f"{field(part.name)}: {sql_type(part.dataType)}" for part in type_.fields) + ">"
    if isinstance(type_, ArrayType):
        return f"ARRAY<{sql_type(type_.elementType)}>"
    if isinstance(type_, MapType):
        return f"MAP<{sql_type(type_.keyType)}, {sql_type(type_.valueType)}>"
    text: str = type_.simpleString()
    return text


def named_struct(fields: Sequence[tuple[str, str]]) -> str:
    return "named_struct(" + ", ".join(f"{text(name)}, {sql}" for name, sql in fields) + ")"


def text(value: str) -> str:
    """A text as SQL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def whole(type_: DataType) -> bool:
    return isinstance(type_, WHOLE)


def floating(type_: DataType) -> bool:
    return isinstance(type_, FLOATING)


def decimal(type_: DataType) -> DecimalType | None:
    return type_ if isinstance(type_, DecimalType) else None
