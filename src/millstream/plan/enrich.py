"""Builds what adds a table's columns to a stream: as the table is now, or as it was at each row's time."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import did_you_mean
from millstream.plan.changing import changing, refuse
from millstream.plan.columns import labels
from millstream.plan.errors import Step, here
from millstream.plan.expressions import Expr, bind, parse, refuse_aggregates, resolve
from millstream.plan.joins import apart, conjuncts, equality
from millstream.plan.lookup import Lookup, is_static
from millstream.plan.node import Key, Node
from millstream.plan.nodes import Alias, Declared, Project, Source, Versions
from millstream.plan.operators import Latest
from millstream.plan.two_sides import Enrich

HOW = ("left", "inner")


def enrich(left: Node, right: Node, on: str, how: str, as_of: str | None) -> Enrich | Lookup:
    step = Step("enrich", here())
    static = is_static(right)
    if right.append_only and not static:
        raise step.error(
            "MS-ENRICH-001",
            "adds to a stream from a stream.",
            hint="use join(), a job.table(), or job.static() if its rows do not change",
        )
    if how not in HOW:
        raise step.error(
            "MS-JOIN-004", f"cannot join {how!r}.", found="one of: " + ", ".join(HOW), hint=did_you_mean(how, HOW)
        )
    if as_of is not None and static:
        raise step.error(
            "MS-ENRICH-006", "asks how a table was that does not change.", hint="leave out as_of=, or use job.table()"
        )
    if as_of is None:
        pairs, residual = matched(left, right, on, step, None)
        if static:
            return Lookup(None, step.at, left, right, pairs, residual, how == "left")
        return Enrich(None, step.at, left, right, pairs, residual, how == "left")
    time = row_time(left, as_of, step)
    versions = versions_of(right, step)
    pairs, residual = matched(left, right, on, step, versions.by)
    return Enrich(None, step.at, left, versions, pairs, residual, how == "left", time, right.event_time)


def matched(
    left: Node, right: Node, on: str, step: Step, by: Key | None
) -> tuple[tuple[tuple[Expr, Expr], ...], Expr | None]:
    """The equalities that find the table's rows, and what is asked of them then. `by`: only by these fields."""
    columns = apart(left, right, step)
    tree = parse(on, step)
    refuse_aggregates(tree, step)
    pairs: dict[str, tuple[Expr, Expr]] = {}
    rest = []
    for part in conjuncts(tree):
        pair = equality(part, left, right, columns, step)
        if pair is None or (by is not None and (unquoted(pair[1]) not in by or pair[1].sql in pairs)):
            rest.append(part)
        else:
            pairs[pair[1].sql if by is not None else str(len(pairs))] = pair
    if by is not None and len(pairs) < len(by):
        raise step.error(
            "MS-ENRICH-004",
            f"asks for rows as they were, but not by the table's key: {on!r}.",
            found="its key: " + ", ".join(by),
            hint="the condition must have an equality for each column of the key; others may follow",
        )
    if not pairs:
        raise step.error(
            "MS-JOIN-001",
            f"joins without an equality between its sides: {on!r}.",
            hint="at least one condition must be of the form stream.column = table.column",
        )
    refuse((of_table for _, of_table in pairs.values()), "over a table", step)
    return tuple(pairs.values()), asked(rest, left, right, step)


def unquoted(expr: Expr) -> str | None:
    """The field, if the expression is one."""
    return expr.tree.name if isinstance(expr.tree, exp.Column) else None


def asked(rest: list[exp.Expr], left: Node, right: Node, step: Step) -> Expr | None:
    if not rest:
        return None
    condition = exp.and_(*rest)
    found = changing(condition)
    if found is not None:
        raise step.error(
            "MS-ENRICH-005",
            f"joins on {found}, which is something else each time it is asked.",
            hint="compare with a column of the stream",
        )
    return bind(condition, apart(left, right, step), step)


def row_time(left: Node, as_of: str, step: Step) -> str:
    """The field with the time of each row; the watermark must show when it is past."""
    hint = 'say it at the source: job.stream(…, time="at", lateness="10 seconds"), and keep the column'
    if left.event_time is None:
        raise step.error(
            "MS-ENRICH-002",
            f"asks for rows as of {as_of}, but the time of the stream's rows is not known.",
            found="columns: " + labels(left.columns),
            hint=hint,
        )
    tree = parse(as_of, step)
    known = next(column for column in left.columns if column.field == left.event_time)
    parts = [part.name for part in tree.parts] if isinstance(tree, exp.Column) else []
    if not parts or resolve(parts, left.columns, step) != (known, []):
        raise step.error(
            "MS-ENRICH-002",
            f"asks for rows as of {as_of}, which is not the time of the stream's rows.",
            found=f"their time: {known.label}",
            hint=f"as_of={known.label!r}",
        )
    return left.event_time


def versions_of(right: Node, step: Step) -> Versions:
    """The table's changes as they are in its source, including what replaced what within an epoch."""
    steps: list[Node] = []
    node = right
    while isinstance(node, Alias | Project):
        steps.insert(0, node)
        node = node.input
    if not isinstance(node, Latest | Declared) or not isinstance(node.input, Source) or right.key is None:
        raise step.error(
            "MS-ENRICH-003",
            "asks for rows as they were, of something that is not a table as it is read.",
            found=f"it is made by: {type(node).__name__.lower()}" if right.key else "its key is not kept",
            hint="use job.table(…) with as_() and select() that keep key and time; conditions go into on=",
        )
    if right.event_time is None:
        raise step.error(
            "MS-ENRICH-003",
            "asks for rows as they were, of a table whose rows have no time.",
            found="columns: " + labels(right.columns),
            hint='say it at the source: job.table(…, time="updated_at"), and keep the column',
        )
    chain: Node = node.input
    for part in steps:
        chain = part.with_inputs((chain,))
    return Versions(None, step.at, chain, right.key, isinstance(node, Latest))
