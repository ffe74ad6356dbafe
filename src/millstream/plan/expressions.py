"""SQL expressions: parsed when the plan is built, every column looked up, wrong ones refused at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from sqlglot import exp
from sqlglot.errors import SqlglotError

from millstream.errors import did_you_mean
from millstream.plan.columns import Column, Columns, labels
from millstream.plan.dialect import inside, lost, read, render, time_of_day
from millstream.plan.errors import Step

STATEMENTS = (exp.Command, exp.DDL, exp.DML, exp.Drop, exp.Alter, exp.Set, exp.Use, exp.Describe)


@dataclass(frozen=True)
class Expr:
    """An expression whose columns are fields of its input, as Spark SQL text."""

    sql: str

    @cached_property
    def tree(self) -> exp.Expr:
        return parsed(self.sql)

    @property
    def fields(self) -> frozenset[str]:
        return frozenset(column.name for column in free_columns(self.tree))

    @property
    def calls(self) -> frozenset[str]:
        """The functions that it calls, in lower case."""
        found = self.tree.find_all(exp.Func)
        names = (node.name if isinstance(node, exp.Anonymous) else node.sql_name() for node in found)
        return frozenset(name.lower() for name in names)

    @property
    def shown(self) -> str:
        """For users: `a.liker < a.liked` instead of the quoted fields."""
        return self.sql.replace("`", "")

    def over(self, place: Callable[[str], str] | Mapping[str, str]) -> str:
        """The SQL text with each field replaced by the SQL that stands for it."""
        find = place if callable(place) else place.__getitem__
        tree = self.tree.copy()
        for column in list(free_columns(tree)):
            column_sql = parsed(find(column.name)).copy()
            if column is tree:
                return render(column_sql)
            wrapped = isinstance(column_sql, exp.Binary) and not isinstance(column_sql, exp.Dot)
            column.replace(exp.paren(column_sql) if wrapped else column_sql)
        return render(tree)


@dataclass(frozen=True)
class NamedExpr:
    """A column of a result: its name there, and its expression over the input."""

    name: str
    expr: Expr


@lru_cache(maxsize=4096)
def parsed(sql: str) -> exp.Expr:
    return read(sql).transform(inside_struct)


def inside_struct(node: exp.Expr) -> exp.Expr:
    """Bound text has no aliases any more: `a`.b is the field a, and b within it."""
    if not isinstance(node, exp.Column) or not node.table:
        return node
    first, *rest = (part.copy() for part in node.parts)
    found: exp.Expr = exp.Column(this=first)
    for part in rest:
        found = exp.Dot(this=found, expression=part)
    return found


def field(name: str) -> str:
    """A field as SQL."""
    return "`" + name.replace("`", "``") + "`"


def free_columns(tree: exp.Expr) -> list[exp.Column]:
    """The columns of an expression, without the variables of its lambdas."""
    return [column for column in tree.find_all(exp.Column) if not bound_by_lambda(column)]


def bound_by_lambda(column: exp.Column) -> bool:
    first = column.parts[0].name.lower()
    lambda_ = column.find_ancestor(exp.Lambda)
    while lambda_ is not None:
        if first in {variable.name.lower() for variable in lambda_.expressions}:
            return True
        lambda_ = lambda_.find_ancestor(exp.Lambda)
    return False


def parse(sql: object, step: Step) -> exp.Expr:
    """The user's text as a tree, or an error that shows where it breaks off."""
    if not isinstance(sql, str):
        raise step.error(
            "MS-EXPR-001",
            f"was given {type(sql).__name__} {sql!r} where an SQL expression is wanted.",
            hint='write it as text, for example "price * 2"',
        )
    try:
        tree = read(sql)
    except SqlglotError as error:
        raise step.error("MS-EXPR-001", f"cannot read the expression {sql!r}.", found=first_line(error)) from error
    if tree.find(exp.Query) is not None:
        raise step.error("MS-EXPR-006", f"has a query inside an expression: {sql!r}.", hint="use join() instead")
    if tree.find(exp.Window) is not None:
        raise step.error("MS-EXPR-007", f"uses OVER (…): {sql!r}.", hint="use group_by() and join() instead")
    if time_of_day(tree):
        raise step.error(
            "MS-EXPR-011",
            f"uses the time of day without a date: {sql!r}.",
            found="Spark's type TIME, which is switched off in Spark",
            hint="write date_format(current_timestamp(), 'HH:mm:ss')",
        )
    if isinstance(tree, STATEMENTS):
        raise step.error("MS-EXPR-001", f"cannot read the expression {sql!r}.", found="a statement")
    return tree


def first_line(error: SqlglotError) -> str:
    line = str(error).splitlines()[0].replace("\x1b[4m", "").replace("\x1b[0m", "")
    return re.sub(r"<class '[\w.]*\.(\w+)'>", r"\1", line)


def bind(tree: exp.Expr, columns: Columns, step: Step) -> Expr:
    """Replaces every column by the field that carries it."""
    missing = lost(tree)
    if missing is not None:
        raise step.error("MS-EXPR-012", f"uses {render(tree)!r}, and part of it would not reach Spark.", found=missing)
    tree = tree.copy()
    for column in free_columns(tree):
        bound = field_access(column, columns, step)
        if column is tree:
            return Expr(render(bound))
        column.replace(bound)
    return Expr(render(tree))


def field_access(column: exp.Column, columns: Columns, step: Step) -> exp.Expr:
    parts = [part.name for part in column.parts]
    found, rest = resolve(parts, columns, step)
    bound: exp.Expr = exp.column(exp.to_identifier(found.field, quoted=True))
    for part in rest:
        bound = exp.Dot(this=bound, expression=inside(part))
    return bound


def resolve(parts: list[str], columns: Columns, step: Step) -> tuple[Column, list[str]]:
    """The column that a dotted name means, and what is left: fields inside a struct."""
    if len(parts) > 1:
        found = [c for c in columns if same(c.qualifier, parts[0]) and same(c.name, parts[1])]
        if found:
            return found[0], parts[2:]
    found = [c for c in columns if same(c.name, parts[0])]
    if len(found) == 1:
        return found[0], parts[1:]
    if len(found) > 1:
        raise step.error(
            "MS-EXPR-003",
            f"uses {parts[0]}, which could be any of {len(found)} columns.",
            found=labels(tuple(found)),
            hint=f"write {found[0].label}",
        )
    raise unknown(".".join(parts), columns, step)


def unknown(name: str, columns: Columns, step: Step) -> Exception:
    return step.error(
        "MS-EXPR-002",
        f"uses {name}, which its input does not have.",
        found=f"columns: {labels(columns)}",
        hint=did_you_mean(name, [column.label for column in columns] + [column.name for column in columns]),
    )


def same(left: str | None, right: str) -> bool:
    """Names are compared as Spark does: without regard to case."""
    return left is not None and left.lower() == right.lower()


def refuse_aggregates(tree: exp.Expr, step: Step) -> None:
    found = tree.find(exp.AggFunc)
    if found is not None:
        raise step.error(
            "MS-EXPR-004",
            f"uses {render(found)}, an aggregate, where only single rows are seen.",
            hint="use group_by(…).agg(…)",
        )


def scalar(sql: object, columns: Columns, step: Step) -> Expr:
    """An expression over single rows."""
    tree = parse(sql, step)
    if isinstance(tree, exp.Alias):
        raise step.error("MS-EXPR-001", f"cannot name a result here: {sql!r}.", hint="leave out the AS")
    refuse_aggregates(tree, step)
    return bind(tree, columns, step)
