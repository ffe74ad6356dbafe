"""State from elsewhere, as the lists of an operator: rows of a data frame, a table or files.

A row has the columns of the key, and those of the state under the names that `millstream state` shows; for an
aggregate, also under the names of its results. For a process, the columns are its state variables: a value, an array, a
map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, BooleanType, DataType, LongType, MapType, NullType, StructField, StructType

from millstream.errors import Location, MillstreamError
from millstream.plan.expressions import field
from millstream.plan.python import StateVar
from millstream.spark.lower.state import Placed
from millstream.spark.lower.types import as_key
from millstream.spark.state.fitting import NUMBERED, fitted
from millstream.spark.state.given_process import of_process, struct
from millstream.spark.state.lists import TIMERS, key_columns
from millstream.spark.state.tables import AT, SPREAD, columns
from millstream.storage import for_hadoop

FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json"}
"""Files that are not Parquet."""


@dataclass(frozen=True)
class Bootstrapped:
    """An operator whose state is given.

    `timers`: whether its stage has any by event time, and `sets_timers` whether it needs them. `ends`: of groups that
    end, the column that says when, and for how many milliseconds they are kept after that. `variables`: those of a
    process.
    """

    name: str
    at: Location | None
    placed: Placed
    timers: bool
    sets_timers: bool
    ends: tuple[str, int] | None = None
    variables: tuple[StateVar, ...] | None = None

    def error(self, message: str, found: str | None = None, hint: str | None = None) -> MillstreamError:
        return MillstreamError("MS-BOOTSTRAP-001", f'step "{self.name}" {message}', at=self.at, found=found, hint=hint)

    @property
    def key(self) -> StructType:
        named = zip(key_columns(self.placed), self.placed.state.key, strict=True)
        return StructType([StructField(one.name, DataType.fromDDL(ddl)) for one, ddl in named])

    @property
    def types(self) -> dict[str, StructType]:
        """The type of a row of each of its lists."""
        key, found = StructField("key", self.key), {}
        for part in self.placed.state.variables:
            fields = [key]
            if part.kind == "list":
                fields.append(StructField("index", LongType()))
            if part.key is not None:
                fields.append(StructField("entry", DataType.fromDDL(part.key)))
            timed = part.kind == TIMERS
            fields.append(StructField(AT, LongType()) if timed else StructField("value", DataType.fromDDL(part.value)))
            found[part.name] = StructType(fields)
        return {**found, TIMERS: StructType([key, StructField(AT, LongType())])} if self.timers else found

    @property
    def results(self) -> dict[str, str]:
        """Fields of the state that are a result of the step as it is, with the name of that."""
        fields = [name for type_ in self.types.values() for name in value_fields(type_)]
        numbered = [(name, found[2]) for name in fields if (found := NUMBERED.fullmatch(name))]
        numbers = [number for _, number in numbered]
        known = self.placed.state.results
        return {name: known[number] for name, number in numbered if number in known and numbers.count(number) == 1}


def value_fields(type_: StructType) -> list[str]:
    inner = type_["value"].dataType if "value" in type_.fieldNames() else None
    return inner.fieldNames() if isinstance(inner, StructType) else []


def as_frame(given: Any, spark: SparkSession) -> DataFrame:
    """A data frame of Spark, pandas or Polars, an Arrow table, or the path of files."""
    if isinstance(given, DataFrame):
        return given
    if isinstance(given, str | PathLike):
        path = fspath(given)
        format_ = FORMATS.get(PurePath(path).suffix, "parquet")
        options = {"header": "true", "inferSchema": "true"} if format_ == "csv" else {}
        return spark.read.format(format_).options(**options).load(for_hadoop(path))
    return spark.createDataFrame(given.to_arrow() if hasattr(given, "to_arrow") else given)


def lists_of(step: Bootstrapped, given: Any, spark: SparkSession) -> dict[str, DataFrame]:
    """The lists that are given, each as it stands in a savepoint."""
    if isinstance(given, Mapping):
        unknown = next((name for name in given if name not in step.types), None)
        if unknown is not None:
            raise step.error(f"has no list {unknown} in its state.", found=f"lists: {', '.join(step.types)}")
        refuse_no_timers(step, TIMERS in given)
        there = {name: one for name, one in given.items() if one is not None}
        return {name: as_list(step, name, as_frame(one, spark)) for name, one in there.items()}
    rows = as_frame(given, spark)
    if step.variables is not None:
        found = of_process(rows, step.key, step.variables, step.error)
        return {name: as_list(step, name, one) for name, one in found.items()}
    names = [part.name for part in step.placed.state.variables]
    if len(names) > 1:
        raise step.error(
            "keeps several lists: it takes a frame for each.",
            found=f"lists: {', '.join(step.types)}",
            hint="give a dict: {list: frame}; millstream state shows what a list has",
        )
    refuse_no_timers(step, False)
    groups = as_list(step, names[0], rows)
    return {names[0]: groups} | ({TIMERS: ends_of(*step.ends, groups)} if step.ends is not None else {})


def refuse_no_timers(step: Bootstrapped, given: bool) -> None:
    if step.sets_timers and not given:
        raise step.error(
            "waits for times to come, and its timers are not among what is given.",
            found=f"lists: {', '.join(step.types)}",
            hint='give a dict with a frame for "timers": the key\'s columns and at; None: there are none',
        )


def ends_of(column: str, kept_ms: int, groups: DataFrame) -> DataFrame:
    """A timer for each group that ends."""
    return groups.selectExpr("key", f"unix_millis(key.{field(column)}) + {kept_ms}L AS {AT}")


def as_list(step: Bootstrapped, name: str, rows: DataFrame) -> DataFrame:
    type_ = step.types[name]
    structs = {part.name: part.dataType for part in type_ if isinstance(part.dataType, StructType)}
    inner = [(one, structs[one].fieldNames() if one in structs else None) for one in type_.fieldNames()]
    wanted = {(column.of, column.field): column.name for column in columns(inner)}
    made = []
    for part in type_.fields:
        stored = without_void(part.dataType)
        whole = rows.schema[part.name].dataType if part.name in rows.columns else None
        if part.name not in SPREAD or not isinstance(stored, StructType):
            sql = number(step, name, part.name, rows)
        elif isinstance(whole, StructType):
            sql = fitted(field(part.name), whole, stored)
        else:
            named = [(each, wanted[part.name, each.name]) for each in stored.fields]
            sql = struct({each.name: column(step, name, called, each, rows) for each, called in named})
        made.append(f"{keyed(sql, part)} AS {field(part.name)}")
    return rows.selectExpr(*made)


def keyed(sql: str, part: StructField) -> str:
    return as_key(sql, part.dataType) if part.name == "key" else sql


def number(step: Bootstrapped, name: str, part: str, rows: DataFrame) -> str:
    """Where an item stands, or when a timer rings: a time, or milliseconds."""
    if part == AT and "at" in rows.columns:
        return "unix_millis(at)"
    if part in rows.columns:
        return f"CAST({field(part)} AS BIGINT)"
    raise missing(step, name, part, rows)


def column(step: Bootstrapped, name: str, called: str, part: StructField, rows: DataFrame) -> str:
    """A column of the frame by its name, or by that of the step's result."""
    result = step.results.get(part.name)
    chosen = next((one for one in (called, result) if one in rows.columns), None)
    if chosen is None:
        raise missing(step, name, called, rows)
    return fitted(field(chosen), rows.schema[chosen].dataType, part.dataType)


def missing(step: Bootstrapped, name: str, called: str, rows: DataFrame) -> MillstreamError:
    results = step.results
    fields = [part.name for part in step.key] + [name for type_ in step.types.values() for name in value_fields(type_)]
    wanted = ", ".join(f"{one} (or {results[one]})" if one in results else one for one in dict.fromkeys(fields))
    return step.error(
        f"is to have state of which the column {called} is missing.",
        found=f"columns: {', '.join(rows.columns)}",
        hint=f"its list {name} needs: {wanted}",
    )


def without_void(type_: DataType) -> DataType:
    """What is always NULL is written as a NULL boolean: Parquet has no type for it."""
    match type_:
        case NullType():
            return BooleanType()
        case ArrayType():
            return ArrayType(without_void(type_.elementType), type_.containsNull)
        case MapType():
            return MapType(without_void(type_.keyType), without_void(type_.valueType))
        case StructType():
            return StructType([StructField(part.name, without_void(part.dataType)) for part in type_.fields])
    return type_
