"""Figures of a list of all values, sorted, as plain SQL over it."""

from __future__ import annotations

from pyspark.sql.types import DataType

from millstream.plan.aggregates import Figure
from millstream.spark.lower.types import decimal, whole


def of_values(part: Figure, type_: DataType, values: str) -> str:
    """NULL where there are none."""
    different = f"array_distinct({values})" if part.function.endswith("_distinct") else values
    match part.function:
        case "percentile":
            assert part.by is not None
            found = percentile(values, part.by.sql)
        case "sum_distinct":
            found = total(different, type_)
        case "avg_distinct":
            found = average(different, type_)
        case _:
            assert part.by is not None
            found = f"array_join({different}, {part.by.sql})"
    return f"CASE WHEN size({values}) > 0 THEN {found} END"


def percentile(values: str, share: str) -> str:
    """As Spark has it: between two values that are not alike, a mean by how near they are."""
    place = f"(CAST(size({values}) - 1 AS DOUBLE) * CAST({share} AS DOUBLE))"
    low, high = (f"get({values}, CAST({round_}({place}) AS INT))" for round_ in ("floor", "ceil"))
    one, other = f"CAST({low} AS DOUBLE)", f"CAST({high} AS DOUBLE)"
    between = f"{one} + ({other} - {one}) * ({place} - floor({place}))"
    return f"CASE WHEN {low} = {high} THEN {one} ELSE {between} END"


def total(values: str, type_: DataType) -> str:
    exact = decimal(type_)
    if exact is not None:
        return added(values, f"DECIMAL({min(38, exact.precision + 10)}, {exact.scale})")
    return added(values, "BIGINT" if whole(type_) else "DOUBLE")


def average(values: str, type_: DataType) -> str:
    exact = decimal(type_)
    if exact is None:
        return f"{added(values, 'DOUBLE')} / size({values})"
    wide = f"DECIMAL({min(38, exact.precision + 10)}, {exact.scale})"
    narrow = f"DECIMAL({min(38, exact.precision + 4)}, {min(38, exact.scale + 4)})"
    return f"CAST({added(values, wide)} / CAST(size({values}) AS DECIMAL(20, 0)) AS {narrow})"


def added(values: str, type_: str) -> str:
    return f"aggregate({values}, CAST(0 AS {type_}), (s, x) -> CAST(s + x AS {type_}))"
