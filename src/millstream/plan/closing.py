"""When rows are closed: those of a window never change again once the watermark has passed its end.

An operator that groups the results of windows by window may then drop what it keeps, too. It does so when all rows of
the epoch are there, because the last ones come when the window closes.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.plan.aggregates import END, START
from millstream.plan.expressions import Expr, NamedExpr
from millstream.plan.intervals import Lifetime
from millstream.plan.node import Node
from millstream.plan.nodes import Alias, Changes, Declared, Explode, Filter, Keep, Project, Timed, is_field
from millstream.plan.operators import Aggregate, Collapse, Dedup, LateRows, Sessions, Sliding, Top
from millstream.plan.two_sides import Enrich, Join

Ends = Mapping[str, int]
"""Fields with a time, and how many milliseconds after it the row is closed."""


def ends(node: Node) -> Ends:
    match node:
        case Alias() | Changes() | Collapse() | Declared() | Explode() | Filter() | Timed() | Top():
            return ends(node.inputs[0])
        case Keep():
            return {name: after for name, after in ends(node.input).items() if name in node.kept}
        case Project():
            return renamed(node.exprs, ends(node.input))
        case Sliding():
            return {}
        case Aggregate() if node.closing is not None:
            return window(node)
        case Aggregate():
            return renamed(node.keys, ends(node.input))
        case _:
            return {}


def window(node: Aggregate) -> Ends:
    """The start of a session does not say when it ends."""
    assert node.closing is not None
    found = {END: node.closing.after_ms}
    if not isinstance(node, Sessions):
        found[START] = node.closing.length_ms + node.closing.allowed_ms
    return found


def renamed(exprs: tuple[NamedExpr, ...], before: Ends) -> Ends:
    """What goes through unchanged, under its new name."""
    carried = [(part.name, next(iter(part.expr.fields))) for part in exprs if is_field(part.expr)]
    return {new: before[old] for new, old in carried if old in before}


def closes(node: Aggregate | Top) -> tuple[int, int] | None:
    """Which key of an operator says when a group is closed, and how many milliseconds after that it is."""
    known = {} if isinstance(node, Sliding) else ends(node.input)
    keys = node.per if isinstance(node, Top) else tuple(plain_field(part) for part in node.keys)
    return next(((i, known[name]) for i, name in enumerate(keys) if name in known), None)


def closed(left: Node, right: Node, on: tuple[tuple[Expr, Expr], ...]) -> tuple[Lifetime, Lifetime] | None:
    """For how long a join keeps the rows of both sides, if they meet by window: until it is closed on both."""
    for one, other in on:
        if is_field(one) and is_field(other):
            (of_left,), (of_right,) = one.fields, other.fields
            if of_left in ends(left) and of_right in ends(right):
                after = max(ends(left)[of_left], ends(right)[of_right])
                return Lifetime(of_left, after, None), Lifetime(of_right, after, None)
    return None


def follows(node: Node) -> bool:
    """Whether rows come to an operator when the watermark has passed their time, and are not late."""
    if isinstance(node, Aggregate | Top) and closes(node) is not None:
        return True
    if isinstance(node, Join) and node.closed is not None:
        return True
    ending = isinstance(node, Aggregate | Dedup | Enrich | Join | LateRows) and not isinstance(node, Sliding)
    return ending and any(part.lag is not None for part in node.inputs)


def plain_field(part: NamedExpr) -> str:
    return next(iter(part.expr.fields)) if is_field(part.expr) else ""
