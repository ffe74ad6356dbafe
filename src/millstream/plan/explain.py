"""Prints a dataflow as a tree, from each sink up to its sources."""

from __future__ import annotations

from millstream.plan.closing import closes
from millstream.plan.describe import describe
from millstream.plan.node import Node, beneath, walk
from millstream.plan.nodes import Declared, Keep, Source
from millstream.plan.operators import Aggregate
from millstream.plan.python import Chosen
from millstream.plan.two_sides import Join


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


def warnings(roots: tuple[Node, ...]) -> list[str]:
    """What grows forever: the streams of unbounded joins, and rows that are kept to compare later ones with."""
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
    """If several sources move time, which ones they are."""
    said = [f"{part.name}{' (unless idle)' if part.idle_after else ''}" for part in sources if part.holds_time]
    return [f"time: the slowest of {', '.join(said)} holds it back"] if len(said) > 1 else []


def tells_rows_apart(node: Aggregate) -> bool:
    """Whether it is a distinct() of whole rows, or of rows with a time: hardly any two are equal."""
    if node.figures or not node.input.append_only or node.closing is not None or closes(node) is not None:
        return False
    return isinstance(beneath(node.input, lambda step: step.whole), Source) or node.input.event_time is not None
