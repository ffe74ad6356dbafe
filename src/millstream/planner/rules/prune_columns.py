"""Keeps out of state and shuffle every field that nobody reads further on."""

from __future__ import annotations

from millstream.plan.nodes import (
    Aggregate,
    Explode,
    Filter,
    Join,
    Keep,
    Latest,
    Node,
    Project,
    Sink,
    Source,
    walk,
)
from millstream.planner.dataflow import Dataflow, rewrite


def prune_columns(flow: Dataflow) -> Dataflow:
    needed: dict[str, set[str]] = {}
    for node in reversed(walk(flow)):
        for part, fields in zip(node.inputs, reads(node, needed.get(node.name, set())), strict=True):
            needed.setdefault(part.name, set()).update(fields)

    def prune(node: Node) -> Node:
        if isinstance(node, Join | Latest):
            parts = zip(node.inputs, reads(node, needed[node.name]), strict=True)
            return node.with_inputs(tuple(keep(part, fields) for part, fields in parts))
        return node

    return rewrite(flow, prune)


def keep(node: Node, fields: set[str]) -> Node:
    kept = tuple(name for name in node.carries if name in fields)
    return node if kept == node.carries else Keep(None, node.at, node, kept)


def reads(node: Node, needed: set[str]) -> list[set[str]]:
    """For each input, the fields of it that a node reads to give the needed ones."""
    match node:
        case Sink():
            return [set(node.input.carries)]
        case Project():
            parts = [part.expr.fields for part in node.exprs if part.name in needed]
            return [set().union(*parts)]
        case Filter():
            return [needed | node.condition.fields]
        case Explode():
            return [(needed - {node.element}) | node.array.fields]
        case Latest():
            return [needed | set(node.by)]
        case Aggregate():
            keys = [part.expr.fields for part in node.keys]
            figures = [part.argument.fields for part in node.figures if part.argument is not None]
            return [set().union(*keys, *figures)]
        case Join():
            return join_reads(node, needed)
        case Source():
            return []
        case _:
            return [set(needed) for _ in node.inputs]


def join_reads(node: Join, needed: set[str]) -> list[set[str]]:
    """A side that is only matched still gives one field: a row must have something to be told apart by."""
    later = needed | (node.residual.fields if node.residual else set())
    sides = []
    for i, carried in enumerate(node.carried):
        fields = {old for old, new in carried.items() if new in later}
        fields |= set().union(*(pair[i].fields for pair in node.on))
        sides.append(fields)
    return sides
