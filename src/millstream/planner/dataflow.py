"""A job's dataflow as its sinks, and the one way to rewrite it."""

from __future__ import annotations

from collections.abc import Callable

from millstream.plan.node import Node, walk
from millstream.plan.nodes import Sink

Dataflow = tuple[Sink, ...]


def rewrite(flow: Dataflow, change: Callable[[Node], Node]) -> Dataflow:
    """Changes every node once, inputs first; a node that several read stays one node."""
    new: dict[Node, Node] = {}
    for node in walk(flow):
        new[node] = change(node.with_inputs(tuple(new[part] for part in node.inputs)))
    sinks = [new[sink] for sink in flow]
    return tuple(sink for sink in sinks if isinstance(sink, Sink))


def readers(flow: Dataflow) -> dict[Node, list[Node]]:
    """The readers of each node."""
    found: dict[Node, list[Node]] = {node: [] for node in walk(flow)}
    for node in found:
        for part in node.inputs:
            found[part].append(node)
    return found
