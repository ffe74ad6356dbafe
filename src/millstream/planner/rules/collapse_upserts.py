"""Brings changes of a table key together before they are written as upserts, where they may come from several tasks."""

from __future__ import annotations

from millstream.plan.node import Node, Stateful
from millstream.plan.nodes import Sink, Source, Union
from millstream.plan.operators import Collapse, Top
from millstream.plan.two_sides import COPY, Join
from millstream.planner.dataflow import Dataflow, rewrite


def collapse_upserts(flow: Dataflow) -> Dataflow:
    return rewrite(flow, collapse)


def collapse(node: Node) -> Node:
    if not isinstance(node, Sink) or node.mode != "upsert" or in_order(node.input):
        return node
    assert node.input.key is not None
    name = f"collapse_{node.name}"
    return node.with_inputs((Collapse(name, node.at, node.input, node.input.key),))


def in_order(node: Node) -> bool:
    """Whether all changes of a key come from one task: an operator's do if its own key is part of the table's.

    The key of a join's row that goes out without a partner is the one of its own side.
    """
    if isinstance(node, Union):
        return False
    if isinstance(node, Join):
        sides = zip(node.inputs, node.tells, strict=True)
        keys = [set(side.key or ()) - {COPY} if tells else set[str]() for side, tells in sides]
        within = [(left.fields <= keys[0], right.fields <= keys[1]) for left, right in node.on]
        alone = all(one[side] for one in within for side in (0, 1) if node.alone[side])
        return alone and all(any(one) for one in within)
    if isinstance(node, Top):
        return set(node.per) <= set(node.key or ())
    return isinstance(node, Source | Stateful) or in_order(node.inputs[0])
