"""One line for each kind of node, in the user's words."""

from __future__ import annotations

from functools import singledispatch

from millstream.plan.aggregates import Closing, Figure
from millstream.plan.connectors import SaysGuarantee
from millstream.plan.expressions import Expr, field
from millstream.plan.lookup import Lookup
from millstream.plan.node import Node
from millstream.plan.nodes import (
    Alias,
    Changes,
    DeadLetters,
    Explode,
    Filter,
    Project,
    Sink,
    Source,
    Timed,
    Union,
    Versions,
)
from millstream.plan.operators import (
    Aggregate,
    Collapse,
    Dedup,
    Hopping,
    LateRows,
    Latest,
    Ordering,
    Sessions,
    Sliding,
    Top,
)
from millstream.plan.python import Call, Output, Process
from millstream.plan.two_sides import COPY, Enrich, Join


@singledispatch
def describe(node: Node) -> str:
    raise TypeError(f"{type(node).__name__} has no description")


@describe.register
def source(node: Source) -> str:
    kind = "upserts" if node.upserts else "changelog" if node.options.changelog else "append"
    kind = "static" if node.static else kind
    said = f", {node.options.guarantee}" if isinstance(node.options, SaysGuarantee) else ""
    return f"source {node.name}: {node.options.system} {node.options.label}, {kind}{time_of(node)}{said}"


@describe.register
def sink(node: Sink) -> str:
    target = f"{node.options.system} {node.options.label}"
    return f"sink {node.name}: {target}, {node.mode}{by(node)}, {node.options.guarantee}"


@describe.register
def dead_letters(node: DeadLetters) -> str:
    return "records that cannot be read"


@describe.register
def alias(node: Alias) -> str:
    return f"as {node.alias}"


@describe.register
def call(node: Call) -> str:
    return f"{node.kind} {node.code.text}: python{failing(node.on_error)}"


@describe.register
def process(node: Process) -> str:
    keys = ", ".join(assigned(part.name, part.expr.shown) for part in node.keys)
    states = "; state " + ", ".join(var.shown for var in node.run.states) if node.run.states else ""
    return f"process {node.name}: {node.run.label} by {keys}{states}; python{failing(node.on_error)}"


@describe.register
def output(node: Output) -> str:
    return "gives " + ", ".join(part.name for part in node.exprs)


@describe.register
def project(node: Project) -> str:
    return "select " + ", ".join(assigned(part.name, part.expr.shown) for part in node.exprs)


@describe.register
def filter_(node: Filter) -> str:
    return f"where {node.condition.shown}"


@describe.register
def explode(node: Explode) -> str:
    return f"explode {node.array.shown} as {node.element}"


@describe.register
def changes(node: Changes) -> str:
    return f"changes as {node.op}"


@describe.register
def timed(node: Timed) -> str:
    return f"time {node.time}"


@describe.register
def union(node: Union) -> str:
    return "union"


@describe.register
def latest(node: Latest) -> str:
    return f"latest {node.name}: by {', '.join(node.by)}, changelog"


@describe.register
def collapse(node: Collapse) -> str:
    return f"collapse {node.name}: by {', '.join(node.by)}, changelog"


@describe.register
def sessions(node: Sessions) -> str:
    keys = ", ".join(assigned(part.name, part.expr.shown) for part in node.keys[2:])
    by_keys = f"by {keys}, " if keys else ""
    return f"sessions {node.name}: {by_keys}gap {node.gap_ms} ms; {results(node)}; {ends(node)}"


@describe.register
def aggregate(node: Aggregate) -> str:
    keys = ", ".join(assigned(part.name, part.expr.shown) for part in node.keys) or "nothing"
    if not node.results:
        return f"distinct {node.name}: {keys}; {'append' if node.append_only else 'changelog'}"
    panes = f", panes of {node.every_ms} ms" if isinstance(node, Hopping) else ""
    return f"aggregate {node.name}: by {keys}{panes}; {results(node)}; {ends(node)}"


@describe.register
def top(node: Top) -> str:
    per = f" per {', '.join(node.per)}" if node.per else ""
    return f"top {node.name}: {node.count}{per}, by {', '.join(map(ordered, node.order))}; changelog"


@describe.register
def dedup(node: Dedup) -> str:
    last = ", the last" if node.last else ""
    return f"dedup {node.name}: by {', '.join(node.by)}, within {node.within_ms} ms{last}; append"


@describe.register
def sliding(node: Sliding) -> str:
    keys = ", ".join(assigned(part.name, part.expr.shown) for part in node.keys) or "nothing"
    return f"sliding {node.name}: by {keys}, the last {node.size_ms} ms; {results(node)}; changelog"


@describe.register
def late_rows(node: LateRows) -> str:
    return f"late {node.name}: rows after {node.closing.end}{longer(node.closing)}, and without it; append"


@describe.register
def join(node: Join) -> str:
    on = " AND ".join(f"{left} = {right}" for left, right in pairs(node))
    residual = f", where {node.residual.shown}" if node.residual else ""
    how = "" if node.how == "inner" else f"{node.how} "
    kind = "append" if node.append_only else "changelog"
    copied = ", right rows copied, left rows spread" if node.broadcast else ""
    return f"{how}join {node.name}: on {on}{residual}; {kind}{kept(node)}{copied}"


@describe.register
def enrich(node: Enrich) -> str:
    when = "latest known"
    if node.as_of and node.since:
        time, since = node.pairing.carried[0][node.as_of], node.pairing.carried[1][node.since]
        when = f"as of {time} by {since}, state until it is past"
    return f"enrich {node.name}: {matching(node)}; {when}; {'left' if node.outer else 'inner'}, append"


@describe.register
def lookup(node: Lookup) -> str:
    return f"look up: {matching(node)}; {'left' if node.outer else 'inner'}, append"


@describe.register
def versions(node: Versions) -> str:
    return f"{'versions' if node.timed else 'upserts'} by {', '.join(node.by)}"


def kept(node: Join) -> str:
    """For how long a join keeps its rows, if that is bounded."""
    parts = zip(("left", "right"), node.lifetimes, strict=True)
    texts = [f"{side} rows until {found.field} + {found.keep_ms} ms" for side, found in parts if found]
    return f", keeps {', '.join(texts)}" if texts else ""


def time_of(node: Source) -> str:
    """What holds time back: a source with a time, unless it is idle."""
    if node.time is None:
        return ""
    if not node.holds_time:
        return f", valid from {node.time}, no say in time"
    late = f" up to {node.lateness} late" if node.lateness else ""
    idle = f", idle after {node.idle_after}" if node.idle_after else ""
    return f", time {node.time}{late}{idle}"


def matching(node: Enrich | Lookup) -> str:
    on = " AND ".join(f"{left} = {right}" for left, right in pairs(node.pairing))
    return f"on {on}" + (f", where {node.residual.shown}" if node.residual else "")


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


def longer(closing: Closing) -> str:
    return f" + {closing.allowed_ms} ms" if closing.allowed_ms else ""


def figure(part: Figure) -> str:
    return part.called + (f" FILTER (WHERE {part.where.sql})" if part.where else "")


def shown(sql: str) -> str:
    return sql.replace("`", "")


def pairs(node: Join) -> list[tuple[str, str]]:
    """The equalities, each field with its alias."""
    left, right = ({old: field(new) for old, new in side.items()} for side in node.carried)
    pairs = [(shown(one.over(left)), shown(other.over(right))) for one, other in node.on]
    return [pair for pair in pairs if pair[1] != COPY]
