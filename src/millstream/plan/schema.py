"""Reads schemas: `liker STRING, liked STRING, at TIMESTAMP`."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.errors import SqlglotError

from millstream.plan.connectors import FieldType
from millstream.plan.dialect import read, render, time_of_day
from millstream.plan.errors import Step
from millstream.plan.expressions import first_line

LIMITED = (exp.DataType.Type.CHAR, exp.DataType.Type.VARCHAR)


def read_schema(text: str, step: Step, code: str = "MS-SOURCE-001") -> tuple[FieldType, ...]:
    if not isinstance(text, str):
        raise broken(text, f"a {type(text).__name__}, not text", step, code)
    try:
        columns = columns_of(text)
    except SqlglotError as error:
        # Without the place: it counts from the start of a statement that users did not write.
        raise broken(text, unread(text) or first_line(error).split(" Line ")[0], step, code) from error
    if not columns or not all(isinstance(column, exp.ColumnDef) and column.args.get("kind") for column in columns):
        raise broken(text, "not a list of names and types", step, code)
    refuse_types(columns, text, step, code)
    fields = tuple(FieldType(column.name, render(column.args["kind"])) for column in columns)
    names = [part.name.lower() for part in fields]
    if len(set(names)) < len(names):
        raise broken(text, "two columns with one name", step, code)
    if any(name.startswith("_") for name in names):
        raise broken(text, "names with _ in front are Millstream's", step, code)
    return fields


def columns_of(text: str) -> list[exp.Expr]:
    tree = read(f"CREATE TABLE t ({text})")
    return list(tree.this.expressions) if isinstance(tree, exp.Create) else []


def unread(text: str) -> str | None:
    """The first column that cannot be read by itself."""
    for column in apart(text):
        try:
            columns_of(column)
        except SqlglotError:
            return f"no name and type: {column.strip()!r}"
    return None


def apart(text: str) -> Iterator[str]:
    """The columns, at the commas that are not within a type."""
    begun = depth = 0
    quoted = False
    for place, sign in enumerate(text):
        quoted ^= sign == "`"
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and not depth and not quoted:
            yield text[begun:place]
            begun = place + 1
    yield text[begun:]


def refuse_types(columns: list[exp.Expr], text: str, step: Step, code: str) -> None:
    for column in columns:
        if time_of_day(column):
            found = f"{column.name} is a time of day: Spark's type TIME, which is switched off in Spark"
            raise broken(text, found, step, code, "read it as STRING")
        if any(type_.this in LIMITED and type_.expressions for type_ in column.find_all(exp.DataType)):
            raise broken(text, f"{column.name} is a text of limited length", step, code, "read it as STRING")


def broken(
    text: str, found: str, step: Step, code: str, hint: str = 'write it as "name STRING, at TIMESTAMP"'
) -> Exception:
    return step.error(code, f"has a schema that cannot be read: {text!r}.", found=found, hint=hint)
