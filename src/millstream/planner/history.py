"""The job over its history: the same steps and sinks, with history instead of the sources that have one."""

from __future__ import annotations

from dataclasses import replace

from millstream.plan.node import Node, walk
from millstream.plan.nodes import Source
from millstream.planner.dataflow import Dataflow, rewrite


def sources_with_history(flow: Dataflow) -> frozenset[str]:
    return frozenset(node.name for node in walk(flow) if isinstance(node, Source) and node.history is not None)


def over_history(flow: Dataflow) -> Dataflow:
    """Names stay, so that state is found again; a source without history is read itself, up to now."""

    def change(node: Node) -> Node:
        if isinstance(node, Source) and node.history is not None:
            return replace(node, options=node.history, history=None)
        return node

    return rewrite(flow, change)
