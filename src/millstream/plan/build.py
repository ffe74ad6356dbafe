"""Builds nodes from what users wrote, and refuses what makes no sense."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.plan import aggregates, nodes, operators
from millstream.plan.aggregates import Closing
from millstream.plan.changing import refuse, refuse_changing
from millstream.plan.columns import Column, Columns, labels
from millstream.plan.errors import Step, here
from millstream.plan.expressions import (
    Expr,
    NamedExpr,
    bind,
    field,
    parse,
    refuse_aggregates,
    resolve,
    same,
    scalar,
    unknown,
)
from millstream.plan.node import Node

HAVING = "_having"
AFTER = "add it when results no longer change: after final() or changes()"


def alias(input: Node, name: str) -> nodes.Alias:
    step = Step(input.name, here())
    if not name.isidentifier():
        raise step.error("MS-PLAN-003", f"cannot be called {name!r}.", hint="use letters, digits and _")
    return nodes.Alias(None, step.at, input, name)


def select(input: Node, plain: tuple[str, ...], named: dict[str, str]) -> nodes.Project:
    step = Step("select", here())
    return project(input, listed(input.columns, plain, named, step), step)


def listed(columns: Columns, plain: tuple[str, ...], named: dict[str, str], step: Step) -> list[NamedExpr]:
    chosen = [part for sql in plain for part in selected(sql, columns, step)]
    return chosen + [NamedExpr(name, scalar(sql, columns, step)) for name, sql in named.items()]


def project(input: Node, chosen: list[NamedExpr], step: Step) -> nodes.Project:
    refuse_changing((part.expr for part in chosen), input, step)
    return nodes.Project(None, step.at, input, distinct_names(chosen, step))


def selected(sql: str, columns: Columns, step: Step) -> list[NamedExpr]:
    """`*`, `a.*`, a column, or an expression with `AS name`."""
    tree = parse(sql, step)
    if isinstance(tree, exp.Star):
        return [carried(column) for column in columns]
    if isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star):
        found = [carried(column) for column in columns if same(column.qualifier, tree.table)]
        if not found:
            raise unknown(sql, columns, step)
        return found
    refuse_aggregates(tree, step)
    if isinstance(tree, exp.Alias):
        return [NamedExpr(tree.alias, bind(tree.this, columns, step))]
    if not isinstance(tree, exp.Column | exp.Dot):
        raise step.error("MS-PLAN-002", f"has no name for {sql!r}.", hint=f"write it as name={sql!r}")
    name = tree.name
    if isinstance(tree, exp.Column):
        column, rest = resolve([part.name for part in tree.parts], columns, step)
        name = rest[-1] if rest else column.name
    return [NamedExpr(name, bind(tree, columns, step))]


def carried(column: Column) -> NamedExpr:
    return NamedExpr(column.name, Expr(field(column.field)))


def distinct_names(chosen: list[NamedExpr], step: Step) -> tuple[NamedExpr, ...]:
    if not chosen:
        raise step.error("MS-PLAN-002", "selects nothing.")
    seen: set[str] = set()
    for part in chosen:
        if part.name.startswith("_"):
            raise step.error(
                "MS-PLAN-005", f"calls a column {part.name}; names with _ in front are Millstream's.", hint="rename it"
            )
        if part.name.lower() in seen:
            raise step.error(
                "MS-PLAN-004",
                f"has two columns called {part.name}.",
                found=", ".join(f"{other.name} = {other.expr.shown}" for other in chosen),
                hint=f"name one of them: other_{part.name}={part.expr.shown!r}",
            )
        seen.add(part.name.lower())
    return tuple(chosen)


def with_columns(input: Node, named: dict[str, str]) -> nodes.Project:
    """The input's columns, some replaced, some added."""
    step = Step("with_columns", here())
    new = {name.lower(): NamedExpr(name, scalar(sql, input.columns, step)) for name, sql in named.items()}
    chosen = [new.pop(column.name.lower(), carried(column)) for column in input.columns]
    return project(input, [*chosen, *new.values()], step)


def where(input: Node, condition: str) -> nodes.Filter:
    step = Step("where", here())
    met = scalar(condition, input.columns, step)
    refuse_changing([met], input, step)
    return nodes.Filter(None, step.at, input, met)


def explode(input: Node, array: str, name: str) -> nodes.Explode:
    step = Step("explode", here())
    if any(same(column.name, name) for column in input.columns):
        raise step.error("MS-PLAN-004", f"has two columns called {name}.", found=labels(input.columns))
    elements = scalar(array, input.columns, step)
    refuse_changing([elements], input, step)
    return nodes.Explode(None, step.at, input, elements, name)


def changes(input: Node, op: str) -> nodes.Changes:
    step = Step("changes", here())
    if not op.isidentifier() or op.startswith("_") or any(same(column.name, op) for column in input.columns):
        raise step.error(
            "MS-PLAN-004", f"cannot call a column {op}.", found=labels(input.columns), hint='changes(op="change")'
        )
    return nodes.Changes(None, step.at, input, op)


def union(parts: tuple[Node, ...], call: str = "union") -> nodes.Union:
    step = Step(call, here())
    names = tuple(column.name for column in parts[0].columns)
    for part in parts:
        if sorted(column.name.lower() for column in part.columns) != sorted(name.lower() for name in names):
            raise step.error(
                "MS-PLAN-006",
                "puts together inputs with different columns.",
                found=f"{labels(parts[0].columns)}; and {labels(part.columns)}",
                hint=alike(parts[0].event_time, part.event_time),
            )
    if any(part.carries != parts[0].carries for part in parts):
        parts = tuple(select(part, names, {}) for part in parts)
    return nodes.Union(None, step.at, parts)


def alike(time: str | None, other: str | None) -> str:
    """How two inputs come to have the same columns, and their time under one name."""
    if time is None or other is None or same(time, other):
        return "select() the same columns on both sides"
    return f'select() the same columns on both sides, and the time under one name: select(…, {time}="{other}")'


def group(input: Node, plain: tuple[str, ...], named: dict[str, str], step: Step) -> tuple[NamedExpr, ...]:
    chosen = listed(input.columns, plain, named, step)
    if not chosen:
        raise step.error("MS-AGG-005", "groups by nothing.", hint="name at least one column, or use agg(…) by itself")
    return distinct_names(chosen, step)


def aggregate(
    input: Node,
    keys: tuple[NamedExpr, ...],
    named: dict[str, str],
    condition: str | None = None,
    closing: Closing | None = None,
) -> operators.Aggregate:
    """`condition`: what groups must meet, as one more result."""
    step = Step("agg", here())
    named = named if condition is None else {**named, HAVING: condition}
    if not named:
        raise step.error("MS-AGG-004", "computes nothing.", hint='for example agg(n="count(*)")')
    trees = {name: parse(sql, step) for name, sql in named.items()}
    for name, tree in trees.items():
        aggregates.refuse_order(tree, step)
        aggregates.refuse_count(named[name], step)
    bound = {name: bind(tree, input.columns, step) for name, tree in trees.items()}
    refuse_changing([*(part.expr for part in keys), *bound.values()], input, step)
    figures, results = aggregates.split(bound, keys, step)
    refuse((Expr(part.sql) for part in results), "over the results of groups", step, hint=AFTER)
    distinct_names([*keys, *(NamedExpr(name, expr) for name, expr in bound.items() if name != HAVING)], step)
    return operators.Aggregate(None, step.at, input, keys, figures, results, closing)


def having(made: operators.Aggregate) -> Node:
    """An aggregate that has the condition as one more result: it decides, and is then left out."""
    if HAVING not in made.carries:
        return made
    kept = nodes.Filter(None, made.at, made, Expr(field(HAVING)))
    names = (name for name in made.carries if name != HAVING)
    return nodes.Project(None, made.at, kept, tuple(NamedExpr(name, Expr(field(name))) for name in names))


def aggregate_of(node: Node) -> operators.Aggregate | None:
    """What agg() made, even if having() then filtered the groups."""
    if isinstance(node, nodes.Project) and isinstance(node.input, nodes.Filter):
        below = node.input.input
        return below if isinstance(below, operators.Aggregate) and HAVING in below.carries else None
    return node if isinstance(node, operators.Aggregate) else None


def named(node: Node, name: str) -> Node:
    """Names the step that keeps state, because that is where the name is looked up."""
    made = aggregate_of(node)
    return replace(node, given=name) if made is None else having(replace(made, given=name))
