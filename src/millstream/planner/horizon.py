"""How far time must move after the last row until nothing waits for it any more."""

from __future__ import annotations

from millstream.plan.node import Node
from millstream.plan.operators import Aggregate, Dedup, Sliding
from millstream.plan.python import Process
from millstream.plan.two_sides import Enrich, Join

FOREVER_MS = 100 * 365 * 86_400_000
"""A process may set timers for any time."""


def horizon_ms(node: Node) -> int:
    """How long after the time of a source's row an operator has sent everything about it."""
    ahead = max((ahead_ms(part) for part in node.inputs), default=0)
    match node:
        case Sliding():
            return ahead + node.size_ms
        case Aggregate() if node.closing is not None:
            return ahead + node.closing.length_ms + node.closing.after_ms
        case Dedup() if node.last:
            return ahead + (node.lag or 0)
        case Enrich() if node.as_of is not None:
            return ahead + 1
        case Join() if node.within is not None:
            waits = zip(node.alone, node.lifetimes, strict=True)
            return ahead + max((life.keep_ms + 1 for alone, life in waits if alone and life), default=0)
        case Process() if node.run.timers:
            return FOREVER_MS
        case _:
            return 0


def ahead_ms(node: Node) -> int:
    """By how much the time of its rows may be after that of the source's rows: windows have the time of their end."""
    below = max((ahead_ms(part) for part in node.inputs), default=0)
    return below + (node.closing.length_ms if isinstance(node, Aggregate) and node.closing is not None else 0)
