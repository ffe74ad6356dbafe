"""Lets a stream that is enriched by a table's key read the table's upserts themselves: the latest row is kept there
anyway, and the stream need not pass the stage that would keep it, too."""

from __future__ import annotations

from millstream.plan.node import Node
from millstream.plan.nodes import Alias, Declared, Keep, Project, Versions
from millstream.plan.operators import Latest
from millstream.plan.two_sides import Enrich
from millstream.planner.dataflow import Dataflow, rewrite


def read_upserts(flow: Dataflow) -> Dataflow:
    return rewrite(flow, read)


def read(node: Node) -> Node:
    if not isinstance(node, Enrich) or node.changes is not None or not node.replaces:
        return node
    steps: list[Node] = []
    table = node.right
    while isinstance(table, Alias | Declared | Keep | Project):
        steps.insert(0, table)
        table = table.input
    if not isinstance(table, Latest) or node.right.key is None:
        return node
    changes: Node = table.input
    for step in steps:
        changes = step.with_inputs((changes,))
    upserts = Versions(None, node.at, changes, node.right.key, tombstones=True, timed=False)
    return node.with_inputs((node.left, upserts))
