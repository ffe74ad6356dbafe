"""The types of a job's rows as Delta has them, which are Spark's; and rows of JSON as Arrow."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from millstream.connectors.delta.errors import deltalake
from millstream.errors import MillstreamError

Read = Callable[[Any], Any]


def same(value: Any) -> Any:
    return value


PLAIN: dict[str, Read] = {
    "boolean": same,
    "byte": int,
    "short": int,
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "string": same,
    "binary": base64.b64decode,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "timestamp_ntz": datetime.fromisoformat,
}
"""Delta's plain types, and how their JSON is read."""


@dataclass(frozen=True)
class Types:
    """A row's columns: in Spark's JSON, as Delta has them, as Arrow has them."""

    fields: tuple[dict[str, Any], ...]
    delta: Any
    arrow: pa.Schema

    def batch(self, rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
        columns = []
        for field, arrow in zip(self.fields, self.arrow, strict=True):
            name, read = field["name"], reader(field["type"])
            values = [None if (value := row.get(name)) is None else read(value) for row in rows]
            columns.append(pa.array(values, arrow.type))
        return pa.RecordBatch.from_arrays(columns, schema=self.arrow)


def row_types(types: str, path: str) -> Types:
    struct = nullable(json.loads(types))
    for field in struct["fields"]:
        try:
            reader(field["type"])
        except KeyError:
            raise MillstreamError(
                "MS-DELTA-006",
                f"column {field['name']} has a type that the Delta table {path} cannot hold.",
                found=str(field["type"]),
                hint="cast it to a type that Delta has",
            ) from None
    delta = deltalake().Schema.from_json(json.dumps(struct))
    return Types(tuple(struct["fields"]), delta, pa.schema(delta.to_arrow()))


def nullable(type_: Any) -> Any:
    """A type in which everything may be missing: what Spark can tell about today's job is no promise for the table.

    Notes that Spark or others made beside a field are left out.
    """
    if not isinstance(type_, dict):
        return type_
    match type_["type"]:
        case "struct":
            loose = {"nullable": True, "metadata": {}}
            return {
                **type_,
                "fields": [{**field, "type": nullable(field["type"]), **loose} for field in type_["fields"]],
            }
        case "array":
            return {**type_, "elementType": nullable(type_["elementType"]), "containsNull": True}
        case "map":
            inner = {"keyType": nullable(type_["keyType"]), "valueType": nullable(type_["valueType"])}
            return {**type_, **inner, "valueContainsNull": True}
        case _:
            return type_


def reader(type_: Any) -> Read:
    """A function that reads a value from JSON. An unknown type is a KeyError."""
    if isinstance(type_, str):
        return Decimal if type_.startswith("decimal(") else PLAIN[type_]
    match type_["type"]:
        case "array":
            element = or_none(reader(type_["elementType"]))
            return lambda values: [element(value) for value in values]
        case "map":
            key, value = reader(type_["keyType"]), or_none(reader(type_["valueType"]))
            return lambda entries: [(key(name), value(entry)) for name, entry in entries.items()]
        case "struct":
            parts = {field["name"]: or_none(reader(field["type"])) for field in type_["fields"]}
            return lambda row: {name: read(row.get(name)) for name, read in parts.items()}
        case other:
            raise KeyError(other)


def or_none(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def fits(path: str, table: Any, types: Types, partition_by: tuple[str, ...]) -> None:
    """An error if the table cannot hold the rows. Its other columns stay NULL."""
    there = {field["name"]: field["type"] for field in nullable(json.loads(table.schema().to_json()))["fields"]}
    missing = [field["name"] for field in types.fields if field["name"] not in there]
    other = [field["name"] for field in types.fields if there.get(field["name"], field["type"]) != field["type"]]
    if missing or other:
        said = f"lacks {', '.join(missing)}" if missing else f"has other types of {', '.join(other)}"
        wanted = {field["name"]: field["type"] for field in types.fields}
        raise MillstreamError(
            "MS-DELTA-002",
            f"the Delta table {path} {said}.",
            found=f"table: {shown(there)}; job: {shown(wanted)}",
            hint="select() or cast what the table has, alter the table, or name another",
        )
    divided = tuple(table.metadata().partition_columns)
    if partition_by and divided != partition_by:
        raise MillstreamError(
            "MS-DELTA-002",
            f"the Delta table {path} is not partitioned by {', '.join(partition_by)}.",
            found=f"partitioned by: {', '.join(divided) or 'nothing'}",
            hint="leave out partition_by=: a table that is there keeps its own",
        )


def shown(columns: dict[str, Any]) -> str:
    names = {name: type_ if isinstance(type_, str) else type_["type"] for name, type_ in columns.items()}
    return ", ".join(f"{name} {type_}" for name, type_ in names.items())
