"""Takes aggregate expressions apart: running figures that kernels keep, and plain SQL over their results."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.plan.errors import Step
from millstream.plan.expressions import Expr, render

FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}


START, END = "window_start", "window_end"
"""The columns of a window, which are the first keys of its groups."""


@dataclass(frozen=True)
class Figure:
    """One running figure of a group: count, sum, min or max of an argument (None counts rows)."""

    function: str
    argument: Expr | None


@dataclass(frozen=True)
class Result:
    """A result column: SQL over `_f0`, `_f1`, … (the figures) and the group's keys."""

    name: str
    sql: str


def call(node: exp.Expr, step: Step) -> tuple[str, Expr | None]:
    """The function and argument of one aggregate call, or an error that says what cannot be kept up to date."""
    function = FUNCTIONS.get(type(node))
    if function is None or isinstance(node.this, exp.Distinct) or isinstance(node.parent, exp.Filter):
        whole = node.parent if isinstance(node.parent, exp.Filter) else node
        raise step.error(
            "MS-AGG-002",
            f"uses {shown(whole or node)}, which is not supported.",
            found="supported: count, sum, avg, min, max",
        )
    if node.expressions:
        raise step.error("MS-AGG-002", f"gives {function} more than one argument: {shown(node)}.")
    argument = node.this
    if isinstance(argument, exp.Star) or (function == "count" and isinstance(argument, exp.Literal)):
        return function, None
    if argument is None or argument.find(exp.AggFunc) is not None:
        raise step.error("MS-AGG-003", f"has an aggregate inside an aggregate: {shown(node)}.")
    return function, Expr(render(argument))


def shown(tree: exp.Expr) -> str:
    return Expr(render(tree)).shown


def outside(tree: exp.Expr) -> list[exp.Column]:
    """The columns that stand outside every aggregate call."""
    return [column for column in tree.find_all(exp.Column) if column.find_ancestor(exp.AggFunc) is None]


@dataclass(frozen=True)
class Closing:
    """When groups come to an end: the key that says it, and how much longer results are corrected.

    `final`: results are sent once, then.
    """

    end: str
    allowed_ms: int
    final: bool = False


@dataclass(frozen=True)
class Keyed:
    """A grouping column: its name in the result and its expression over the input."""

    name: str
    expr: Expr


def split(
    aggregates: dict[str, Expr], keys: tuple[Keyed, ...], step: Step
) -> tuple[tuple[Figure, ...], tuple[Result, ...]]:
    """Bound aggregate expressions as figures and results; equal figures are kept once."""
    figures: list[Figure] = []
    results = []
    for name, expr in aggregates.items():
        tree = exp.Paren(this=expr.tree.copy())
        refuse_ungrouped(tree, keys, step)
        for node in list(tree.find_all(exp.AggFunc)):
            figure = Figure(*call(node, step))
            if figure not in figures:
                figures.append(figure)
            node.replace(exp.column(f"f{figures.index(figure)}"))
        for column in outside(tree):
            place = next((i for i, key in enumerate(keys) if key.expr.tree == column), None)
            if place is not None:
                column.replace(exp.column(f"k{place}"))
        results.append(Result(name, render(tree.this)))
    return tuple(figures), tuple(results)


def refuse_ungrouped(tree: exp.Expr, keys: tuple[Keyed, ...], step: Step) -> None:
    grouped = [key.expr.tree for key in keys]
    for column in outside(tree):
        if column not in grouped:
            raise step.error(
                "MS-AGG-001",
                f"uses {column.name} outside an aggregate, and does not group by it.",
                found="grouped by: " + ", ".join(key.name for key in keys),
                hint=f"add {column.name} to group_by(), or use min({column.name})",
            )
    if tree.find(exp.AggFunc) is None:
        raise step.error("MS-AGG-004", f"has no aggregate in {shown(tree.this)}.", hint="for example count(*)")
