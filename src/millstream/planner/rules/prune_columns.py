"""Keeps out of state and shuffle every field that nobody reads further on."""

from __future__ import annotations

from millstream.plan.lookup import Lookup
from millstream.plan.node import Node, Stateful, walk
from millstream.plan.nodes import Keep
from millstream.planner.dataflow import Dataflow, rewrite


def prune_columns(flow: Dataflow) -> Dataflow:
    needed: dict[str, set[str]] = {}
    for node in reversed(walk(flow)):
        for part, fields in zip(node.inputs, node.reads(needed.get(node.name, set())), strict=True):
            needed.setdefault(part.name, set()).update(fields)

    def prune(node: Node) -> Node:
        if isinstance(node, Lookup) or (isinstance(node, Stateful) and node.prunes):
            parts = zip(node.inputs, node.reads(needed[node.name]), strict=True)
            return node.with_inputs(tuple(keep(part, fields) for part, fields in parts))
        return node

    return rewrite(flow, prune)


def keep(node: Node, fields: set[str]) -> Node:
    kept = tuple(name for name in node.carries if name in fields)
    return node if kept == node.carries else Keep(None, node.at, node, kept)
