"""A table as the database has it: its columns, their types, its key; and its values as JSON."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millstream.connectors.postgres.connect import split
from millstream.errors import MillstreamError

COLUMNS = """SELECT a.attname, t.typname, format_type(a.atttypid, a.atttypmod), a.atttypid, a.atttypmod
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum"""
KEY = """SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
WHERE i.indrelid = to_regclass(%s) AND i.indisprimary ORDER BY array_position(i.indkey::int2[], a.attnum)"""
IDENTITY = """SELECT c.oid, c.relreplident, coalesce(i.indisprimary, false) FROM pg_class c
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisreplident WHERE c.oid = to_regclass(%s)"""
TYPES = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INT",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP",
    "bytea": "BINARY",
}
"""Everything else is read as text."""


@dataclass(frozen=True)
class Column:
    """`postgres`: its type there, `full` with all that modifies it, `number` as the log has it. `type`: Spark's."""

    name: str
    postgres: str
    full: str
    number: tuple[int, int]
    type: str


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    number: int
    """The database's own: it differs after the table was dropped and created again."""

    @property
    def qualified(self) -> str:
        return ".".join(quoted(part) for part in split(self.name))

    @property
    def schema(self) -> str:
        return ", ".join(f"`{column.name}` {column.type}" for column in self.columns)

    def key_of(self, row: dict[str, Any]) -> bytes:
        return json.dumps({name: row[name] for name in self.key}).encode()

    def row(self, names: Sequence[str], values: Sequence[str | None]) -> dict[str, Any]:
        """A row from the text of its values; columns that came later than the job are left out."""
        known = {column.name: column for column in self.columns}
        pairs = zip(names, values, strict=True)
        return {name: self.value(known[name], text) for name, text in pairs if name in known}

    def value(self, column: Column, text: str | None) -> Any:
        try:
            return plain(column.postgres, text)
        except ValueError as error:
            raise MillstreamError(
                "MS-POSTGRES-008",
                f'table "{self.name}" has a value of column {column.name} that is no {column.full}.',
                found=str(text)[:100],
                hint="it is of a time when the column had another type: start over with another checkpoint folder",
            ) from error


def look_up(connection: Any, name: str) -> Table:
    qualified = ".".join(quoted(part) for part in split(name))
    columns = tuple(
        Column(column, type_, full, (number, modifier), spark_type(type_, full))
        for column, type_, full, number, modifier in connection.execute(COLUMNS, [qualified])
    )
    if not columns:
        raise MillstreamError("MS-POSTGRES-002", f'table "{name}" does not exist.', hint="mend the name, or create it")
    key = tuple(row[0] for row in connection.execute(KEY, [qualified]))
    if not key:
        raise MillstreamError(
            "MS-POSTGRES-002",
            f'table "{name}" has no primary key, by which its changes could be told apart.',
            hint=f"ALTER TABLE {qualified} ADD PRIMARY KEY (…)",
        )
    number, identity, primary = connection.execute(IDENTITY, [qualified]).fetchone()
    if identity not in ("d", "f") and not primary:
        raise MillstreamError(
            "MS-POSTGRES-002",
            f'table "{name}" does not send its primary key with changes.',
            hint=f"ALTER TABLE {qualified} REPLICA IDENTITY DEFAULT",
        )
    return Table(name, columns, key, number)


def spark_type(type_: str, full: str) -> str:
    if type_ == "numeric":
        found = re.search(r"\((\d+),(-?\d+)\)", full)
        return f"DECIMAL({found.group(1)}, {found.group(2)})" if found else "DECIMAL(38, 18)"
    return TYPES.get(type_, "STRING")


def plain(type_: str, text: str | None) -> Any:
    """A value's text as JSON. What JSON would round, or cannot express, stays text."""
    if text is None:
        return None
    match type_:
        case "bool":
            return text in ("t", "true")
        case "int2" | "int4" | "int8":
            return int(text)
        case "float4" | "float8" if math.isfinite(float(text)):
            return float(text)
        case "bytea":
            return base64.b64encode(bytes.fromhex(text.removeprefix("\\x"))).decode()
        case "timestamp" | "timestamptz":
            return text.replace(" ", "T").removesuffix("+00") + "Z"
        case _:
            return text


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
