"""The state of a process from a frame with a column for each of its state variables: a value, an array, a map."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from millstream.errors import MillstreamError
from millstream.plan.expressions import field
from millstream.plan.python import StateVar
from millstream.spark.lower.types import named_struct

Refuse = Callable[[str, str | None, str | None], MillstreamError]
NEVER = "CAST(NULL AS BIGINT)"


def of_process(
    rows: DataFrame, key: StructType, variables: tuple[StateVar, ...], refuse: Refuse
) -> dict[str, DataFrame]:
    """By list. Values are in one row for each key, which also marks the lists and maps that are not empty."""
    refuse_columns(rows, key, variables, refuse)
    large = [var for kind in ("list", "map") for var in variables if var.kind == kind]
    bits = [f"IF(size({field(var.name)}) > 0, {1 << bit}L, 0L)" for bit, var in enumerate(large)]
    kept = {"filled": " + ".join(["0L", *bits]), "clean": NEVER}
    kept |= dict.fromkeys(("timers", "clocks"), "CAST(array() AS ARRAY<BIGINT>)")
    values = {f"v_{var.name}": item(field(var.name)) for var in variables if var.kind == "value"}
    keys = f"{struct({part.name: field(part.name) for part in key.fields})} AS key"
    found = {"row": rows.selectExpr(keys, f"{struct(kept | values)} AS value")}
    for var in large:
        column = field(var.name)
        if var.kind == "list":
            items = rows.selectExpr(keys, f"posexplode({column}) AS (index, item)")
            found[f"state_{var.name}"] = items.selectExpr("key", "index", f"{item('item', null=True)} AS value")
        else:
            entries = rows.selectExpr(keys, f"explode({column}) AS (name, item)")
            entry = f"{struct({'key': 'name'})} AS entry"
            found[f"state_{var.name}"] = entries.selectExpr("key", entry, f"{item('item', null=True)} AS value")
    return found


def item(sql: str, *, null: bool = False) -> str:
    """A value beside the time at which it expires. `null`: whether it is there even if it is NULL."""
    whole = struct({"value": sql, "expires": NEVER})
    return whole if null else f"CASE WHEN {sql} IS NOT NULL THEN {whole} END"


def struct(parts: Mapping[str, str]) -> str:
    return named_struct(tuple(parts.items()))


def refuse_columns(rows: DataFrame, key: StructType, variables: tuple[StateVar, ...], refuse: Refuse) -> None:
    names = [*key.fieldNames(), *(var.name for var in variables)]
    missing = next((name for name in names if name not in rows.columns), None)
    if missing is not None:
        found, hint = f"columns: {', '.join(rows.columns)}", f"it takes: {', '.join(names)}"
        raise refuse(f"is to have state of which the column {missing} is missing.", found, hint)
    expiring = next((var.name for var in variables if var.ttl_ms is not None), None)
    if expiring is not None:
        hint = "give its lists: {list: frame}; millstream state shows what a list has"
        raise refuse(f"lets its state {expiring} expire, and a frame does not say when.", None, hint)
