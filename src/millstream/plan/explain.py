"""Prints a dataflow as a tree, from each sink up to its sources."""

from __future__ import annotations

from millstream.plan.aggregates import Closing, Figure
from millstream.plan.closing import closes
from millstream.plan.expressions import Expr, field
from millstream.plan.lookup import Lookup
from millstream.plan.node import Node, walk
from millstream.plan.nodes import (
    Alias,
    Changes,
    DeadLetters,
    Declared,
    Explode,
    Filter,
    Keep,
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
    Expire,
    Hopping,
    LateRows,
    Latest,
    Ordering,
    Sessions,
    Top,
)
from millstream.plan.python import Call, Chosen, Output, Process
from millstream.plan.two_sides import COPY, Enrich, Join


def tree(root: Node, notes: dict[Node, str], shown: set[Node]) -> list[str]:
    """A node and, below it, what it reads. A node that was shown already is only named."""
    return branch(root, "", "", notes, shown)


def branch(node: Node, first: str, rest: str, notes: dict[Node, str], shown: set[Node]) -> list[str]:
    if isinstance(node, Declared | Keep | Chosen):
        return branch(node.inputs[0], first, rest, notes, shown)
    again = node in shown
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
            kind = "static" if node.static else kind
            return f"source {node.name}: {node.options.system} {node.options.label}, {kind}{timed(node)}"
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
        case Changes():
            return f"changes as {node.op}"
        case Timed():
            return f"time {node.time}"
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
            keys = ", ".join(assigned(part.name, part.expr.shown) for part in node.keys) or "nothing"
            if not node.results:
                return f"distinct {node.name}: {keys}; {'append' if node.append_only else 'changelog'}"
            panes = f", panes of {node.every_ms} ms" if isinstance(node, Hopping) else ""
            return f"aggregate {node.name}: by {keys}{panes}; {results(node)}; {ends(node)}"
        case Top():
            per = f" per {', '.join(node.per)}" if node.per else ""
            return f"top {node.name}: {node.count}{per}, by {', '.join(map(ordered, node.order))}; changelog"
        case Dedup():
            last = ", the last" if node.last else ""
            return f"dedup {node.name}: by {', '.join(node.by)}, within {node.within_ms} ms{last}; append"
        case Expire():
            return f"expire {node.name}: each row until {node.end}; changelog"
        case LateRows():
            return f"late {node.name}: rows after {node.closing.end}{longer(node.closing)}, and without it; append"
        case Join():
            on = " AND ".join(f"{left} = {right}" for left, right in pairs(node))
            residual = f", where {node.residual.shown}" if node.residual else ""
            how = "" if node.how == "inner" else f"{node.how} "
            kind = "append" if node.append_only else "changelog"
            copied = ", right rows copied, left rows spread" if node.broadcast else ""
            return f"{how}join {node.name}: on {on}{residual}; {kind}{kept(node)}{copied}"
        case Enrich():
            return enriched(node)
        case Lookup():
            return f"look up: {matching(node)}; {'left' if node.outer else 'inner'}, append"
        case Versions():
            return f"{'versions' if node.timed else 'upserts'} by {', '.join(node.by)}"
        case _:
            return node.name


def kept(node: Join) -> str:
    """For how long a join keeps its rows, if that is bounded."""
    parts = zip(("left", "right"), node.lifetimes, strict=True)
    texts = [f"{side} rows until {found.field} + {found.keep_ms} ms" for side, found in parts if found]
    return f", keeps {', '.join(texts)}" if texts else ""


def warnings(roots: tuple[Node, ...]) -> list[str]:
    """What grows for ever: the streams of joins that nothing bounds, and rows that are kept to be told apart."""
    lines = []
    for node in walk(roots):
        if isinstance(node, Aggregate) and tells_rows_apart(node):
            lines.append(
                f"warning: {node.name} keeps every different row of the stream for ever. "
                'Take dedup(…, within="…"), or select() the columns that it is about.'
            )
        sides = zip(("left", "right"), node.inputs, node.lifetimes, strict=True) if isinstance(node, Join) else ()
        open_ = [side for side, part, found in sides if part.append_only and found is None]
        if open_:
            lines.append(
                f"warning: {node.name} keeps every row of the stream on its {' and its '.join(open_)} for ever. "
                'Bound it by times in the condition, or by ttl="…".'
            )
    return lines


def held_back(sources: tuple[Source, ...]) -> list[str]:
    """Where several sources say how far time is, which ones they are."""
    said = [f"{part.name}{' (unless idle)' if part.idle_after else ''}" for part in sources if part.holds_time]
    return [f"time: the slowest of {', '.join(said)} holds it back"] if len(said) > 1 else []


def tells_rows_apart(node: Aggregate) -> bool:
    """Whether it is a distinct() of whole rows, or of ones with a time: hardly any two are alike."""
    if node.figures or not node.input.append_only or node.closing is not None or closes(node) is not None:
        return False
    part = node.input
    while isinstance(part, Alias | Filter | Declared):
        part = part.input
    return isinstance(part, Source) or node.input.event_time is not None


def timed(node: Source) -> str:
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


def enriched(node: Enrich) -> str:
    when = "latest known"
    if node.as_of and node.since:
        time, since = node.pairing.carried[0][node.as_of], node.pairing.carried[1][node.since]
        when = f"as of {time} by {since}, state until it is past"
    return f"enrich {node.name}: {matching(node)}; {when}; {'left' if node.outer else 'inner'}, append"


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
