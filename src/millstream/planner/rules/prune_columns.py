"""Keeps every field that no later step reads out of state and shuffle."""

from __future__ import annotations

from dataclasses import replace

from millstream.plan.lookup import Lookup
from millstream.plan.node import Node, Stateful, walk
from millstream.plan.nodes import Keep, Project, Sink, Union
from millstream.planner.dataflow import Dataflow


def prune_columns(flow: Dataflow) -> Dataflow:
    needed: dict[Node, set[str]] = {node: set() for node in walk(flow)}
    for node in reversed(walk(flow)):
        for part, fields in zip(node.inputs, node.reads(needed[node]), strict=True):
            needed[part].update(fields)
    new: dict[Node, Node] = {}
    for node in walk(flow):
        new[node] = prune(node.with_inputs(tuple(new[part] for part in node.inputs)), needed[node])
    return tuple(sink for sink in (new[part] for part in flow) if isinstance(sink, Sink))


def prune(node: Node, needed: set[str]) -> Node:
    if isinstance(node, Lookup) or (isinstance(node, Stateful) and node.prunes):
        parts = zip(node.inputs, node.reads(needed), strict=True)
        return node.with_inputs(tuple(keep(part, fields) for part, fields in parts))
    if isinstance(node, Project) and not needed.issuperset(node.carries):
        # What a node does not give need not exist below it, either.
        return replace(node, exprs=tuple(part for part in node.exprs if part.name in needed))
    if isinstance(node, Union):
        # A part that others read, too, may have more.
        return node.with_inputs(tuple(keep(part, needed) for part in node.parts))
    return node


def keep(node: Node, fields: set[str]) -> Node:
    kept = tuple(name for name in node.carries if name in fields)
    return node if kept == node.carries else Keep(None, node.at, node, kept)
