"""Reads schemas: `liker STRING, liked STRING, at TIMESTAMP`."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from millstream.plan.connectors import FieldType
from millstream.plan.errors import Step
from millstream.plan.expressions import DIALECT, first_line


def read_schema(text: str, step: Step, code: str = "MS-SOURCE-001") -> tuple[FieldType, ...]:
    try:
        tree = sqlglot.parse_one(f"CREATE TABLE t ({text})", dialect=DIALECT)
    except SqlglotError as error:
        # Without the place: it counts from the start of a statement that users did not write.
        raise broken(text, first_line(error).split(" Line ")[0], step, code) from error
    columns = list(tree.this.expressions) if isinstance(tree, exp.Create) else []
    if not columns or not all(isinstance(column, exp.ColumnDef) and column.kind for column in columns):
        raise broken(text, "not a list of names and types", step, code)
    fields = tuple(FieldType(column.name, column.kind.sql(dialect=DIALECT)) for column in columns)
    names = [part.name.lower() for part in fields]
    if len(set(names)) < len(names):
        raise broken(text, "two columns with one name", step, code)
    if any(name.startswith("_") for name in names):
        raise broken(text, "names with _ in front are Millstream's", step, code)
    return fields


def broken(text: str, found: str, step: Step, code: str) -> Exception:
    return step.error(
        code,
        f"has a schema that cannot be read: {text!r}.",
        found=found,
        hint='write it as "name STRING, at TIMESTAMP"',
    )
