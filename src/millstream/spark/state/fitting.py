"""A saved value as another type: fields by name, what is new NULL. Nothing is lost on the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructField, StructType

from millstream.spark.lower.state import StateShape

NUMBERED = re.compile(r"([a-z_]*[a-z])(\d+)((?:_\d+)?)")
"""A field, or a state variable, of a figure: `sum3`, `distinct3_0`."""
Rename = Callable[[str], str]
"""Old names by new names."""


NOT_KEPT = ""


def same_name(name: str) -> str:
    return name


def renamed(before: StateShape, now: StateShape) -> Rename:
    """Figures are found by what they compute, not by their place; one of which nothing was saved has no name there."""
    numbers = {text: number for number, text in before.computes.items()}
    old = {number: numbers[text] for number, text in now.computes.items() if text in numbers}

    def name_before(name: str) -> str:
        found = NUMBERED.fullmatch(name)
        if found is None or found[2] not in now.computes:
            return name
        return f"{found[1]}{old[found[2]]}{found[3]}" if found[2] in old else NOT_KEPT

    return name_before if before.computes and now.computes else same_name


def not_kept(before: StateShape, now: StateShape) -> list[str]:
    """The figures for which nothing was saved."""
    return sorted(set(now.computes.values()) - set(before.computes.values()))


def holds(before: str, now: str, rename: Rename = same_name) -> bool:
    """Whether all of a type, as Spark writes it, fits into another one."""
    return before == now or has_place(DataType.fromDDL(before), DataType.fromDDL(now), rename)


def has_place(before: DataType, now: DataType, rename: Rename = same_name) -> bool:
    if before.simpleString() == now.simpleString():
        return True
    if isinstance(before, StructType) and isinstance(now, StructType):
        known = types(before)
        wanted = {rename(part.name): part.dataType for part in now.fields}
        figures = rename is not same_name
        alike = all(has_place(known[name], type_) for name, type_ in wanted.items() if name in known)
        # A figure that is no longer wanted may go; a column of a row may not: rows that differ only there would merge.
        return alike and (figures or known.keys() <= wanted.keys())
    if isinstance(before, ArrayType) and isinstance(now, ArrayType):
        return has_place(before.elementType, now.elementType)
    if isinstance(before, MapType) and isinstance(now, MapType):
        same_key = before.keyType.simpleString() == now.keyType.simpleString()
        return same_key and has_place(before.valueType, now.valueType)
    return False


def types(struct: StructType) -> Mapping[str, DataType]:
    return {part.name: part.dataType for part in struct.fields}


def fitted(sql: str, before: DataType, now: DataType, rename: Rename = same_name, depth: int = 0) -> str:
    """SQL for the value in its new form."""
    if isinstance(now, NullType):
        return "NULL"
    if before.simpleString() == now.simpleString() and rename is same_name:
        return sql
    if isinstance(before, StructType) and isinstance(now, StructType):
        return fitted_struct(sql, before, now, rename, depth)
    if isinstance(before, ArrayType) and isinstance(now, ArrayType):
        inner = fitted(f"x{depth}", before.elementType, now.elementType, same_name, depth + 1)
        return f"transform({sql}, x{depth} -> {inner})"
    if isinstance(before, MapType) and isinstance(now, MapType):
        inner = fitted(f"v{depth}", before.valueType, now.valueType, same_name, depth + 1)
        return f"transform_values({sql}, (k{depth}, v{depth}) -> {inner})"
    return sql if before.simpleString() == now.simpleString() else f"CAST({sql} AS {now.simpleString()})"


def fitted_struct(sql: str, before: StructType, now: StructType, rename: Rename, depth: int) -> str:
    known, parts = types(before), []
    for part in now.fields:
        name = rename(part.name)
        inner = f"{sql}.`{name}`"
        value = fitted(inner, known[name], part.dataType, same_name, depth) if name in known else nothing(part)
        parts.append(f"'{part.name}', {value}")
    return f"CASE WHEN {sql} IS NULL THEN NULL ELSE named_struct({', '.join(parts)}) END"


def nothing(part: StructField) -> str:
    """SQL for what a field holds before there is anything: NULL, or where that may not be, zero."""
    type_ = part.dataType
    if part.nullable:
        return f"CAST(NULL AS {type_.simpleString()})"
    if isinstance(type_, StructType):
        return "named_struct(" + ", ".join(f"'{each.name}', {nothing(each)}" for each in type_.fields) + ")"
    empty = "array()" if isinstance(type_, ArrayType) else "map()" if isinstance(type_, MapType) else "0"
    return f"CAST({empty} AS {type_.simpleString()})"
