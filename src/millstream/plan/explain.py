"""Prints a dataflow as a tree, from each sink up to its sources."""

from __future__ import annotations

from millstream.plan.aggregates import Figure
from millstream.plan.expressions import Expr, field
from millstream.plan.node import Node
from millstream.plan.nodes import Alias, DeadLetters, Declared, Explode, Filter, Keep, Project, Sink, Source, Union
from millstream.plan.operators import Aggregate, Collapse, Join, Latest, Ordering, Sessions, Top
from millstream.plan.python import Call, Chosen, Output, Process


def tree(root: Node, notes: dict[Node, str], shown: set[Node]) -> list[str]:
    """A node and, below it, what it reads. A node that was shown already is only named."""
    return branch(root, "", "", notes, shown)


def branch(node: Node, first: str, rest: str, notes: dict[Node, str], shown: set[Node]) -> list[str]:
    if isinstance(node, Declared | Keep | Chosen):
        return branch(node.inputs[0], first, rest, notes, shown)
    again = node in shown and bool(node.inputs)
    note = notes.get(node, "")
    lines = [first + describe(node) + (f"   [{note}]" if note else "") + ("   (shown above)" if again else "")]
    if again:
        return lines
    shown.add(node)
    for i, part in enumerate(node.inputs):
        last = i == len(node.inputs) - 1
        lines += branch(part, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), notes, shown)
    return lines


def describe(node: Node) -> str:
    match node:
        case Source():
            kind = "upserts" if node.upserts else "changelog" if node.options.changelog else "append"
            time = (
                f", time {node.time}" + (f" up to {node.lateness} late" if node.lateness else "") if node.time else ""
            )
            return f"source {node.name}: {node.options.system} {node.options.label}, {kind}{time}"
        case Sink():
            return (
                f"sink {node.name}: {node.options.system} {node.options.label}, {node.mode}"
                f"{by(node)}, {node.options.guarantee}"
            )
        case DeadLetters():
            return "records that cannot be read"
        case Alias():
            return f"as {node.alias}"
        case Call():
            return f"{node.kind} {node.code.text}: python{failing(node.on_error)}"
        case Process():
            return process(node)
        case Output():
            return "gives " + ", ".join(part.name for part in node.exprs)
        case Project():
            return "select " + ", ".join(assigned(part.name, part.expr.shown) for part in node.exprs)
        case Filter():
            return f"where {node.condition.shown}"
        case Explode():
            return f"explode {node.array.shown} as {node.element}"
        case Union():
            return "union"
        case Latest():
            return f"latest {node.name}: by {', '.join(node.by)}, changelog"
        case Collapse():
            return f"collapse {node.name}: by {', '.join(node.by)}, changelog"
        case Sessions():
            keys = ", ".join(assigned(part.name, part.expr.shown) for part in node.keys[2:])
            by_keys = f"by {keys}, " if keys else ""
            return f"sessions {node.name}: {by_keys}gap {node.gap_ms} ms; {results(node)}; {ends(node)}"
        case Aggregate():
            keys = ", ".join(assigned(part.name, part.expr.shown) for part in node.keys)
            return f"aggregate {node.name}: by {keys}; {results(node)}; {ends(node)}"
        case Top():
            per = f" per {', '.join(node.per)}" if node.per else ""
            return f"top {node.name}: {node.count}{per}, by {', '.join(map(ordered, node.order))}; changelog"
        case Join():
            on = " AND ".join(f"{left} = {right}" for left, right in pairs(node))
            residual = f", where {node.residual.shown}" if node.residual else ""
            return f"join {node.name}: on {on}{residual}; {'append' if node.append_only else 'changelog'}"
        case _:
            return node.name


def process(node: Process) -> str:
    keys = ", ".join(assigned(part.name, part.expr.shown) for part in node.keys)
    states = "; state " + ", ".join(var.shown for var in node.run.states) if node.run.states else ""
    return f"process {node.name}: {node.run.label} by {keys}{states}; python{failing(node.on_error)}"


def failing(on_error: str) -> str:
    return {"fail": "", "skip": ", skips rows that fail", "dead_letter": ", dead letters for rows that fail"}[on_error]


def by(node: Sink) -> str:
    return f" by {', '.join(node.input.key)}" if node.mode == "upsert" and node.input.key else ""


def assigned(name: str, sql: str) -> str:
    return name if name == sql else f"{name} = {sql}"


def results(node: Aggregate) -> str:
    """Results with their figures put back in: `n = count(*)`."""
    texts = {f"f{i}": figure(part) for i, part in enumerate(node.figures)}
    texts |= {f"k{i}": field(part.name) for i, part in enumerate(node.keys)}
    return ", ".join(f"{part.name} = {shown(Expr(part.sql).over(texts))}" for part in node.results)


def ordered(part: Ordering) -> str:
    nulls = "" if part.nulls_first != part.descending else f" NULLS {'FIRST' if part.nulls_first else 'LAST'}"
    return part.expr.shown + (" DESC" if part.descending else "") + nulls


def ends(node: Aggregate) -> str:
    if node.closing is None:
        return "changelog"
    late = f", corrected for {node.closing.allowed_ms} ms more" if node.closing.allowed_ms else ""
    return f"{'once per window' if node.closing.final else 'changelog'}{late}, state until {node.closing.end}"


def figure(part: Figure) -> str:
    distinct = part.function == "count_distinct"
    arguments = ", ".join(each.sql for each in (part.argument, part.by) if each is not None) or "*"
    where = f" FILTER (WHERE {part.where.sql})" if part.where else ""
    return f"{'count' if distinct else part.function}({'DISTINCT ' if distinct else ''}{arguments}){where}"


def shown(sql: str) -> str:
    return sql.replace("`", "")


def pairs(node: Join) -> list[tuple[str, str]]:
    """The equalities, each field with its alias."""
    left, right = ({old: field(new) for old, new in side.items()} for side in node.carried)
    return [(shown(one.over(left)), shown(other.over(right))) for one, other in node.on]
