"""Lets a stream that is enriched by a table's key read the table's upserts themselves: the latest row is kept there
anyway, and the stream need not pass the stage that would keep it, too."""

from __future__ import annotations

from millstream.plan.node import Node, beneath
from millstream.plan.nodes import Versions
from millstream.plan.operators import Latest
from millstream.plan.two_sides import Enrich
from millstream.planner.dataflow import Dataflow, rewrite


def read_upserts(flow: Dataflow) -> Dataflow:
    return rewrite(flow, read)


def read(node: Node) -> Node:
    if not isinstance(node, Enrich) or node.changes is not None or not node.replaces:
        return node
    table = beneath(node.right, lambda step: step.row_for_row)
    if not isinstance(table, Latest) or node.right.key is None:
        return node
    changes = over(table.input, node.right, table)
    upserts = Versions(None, node.at, changes, node.right.key, tombstones=True, timed=False)
    return node.with_inputs((node.left, upserts))


def over(changes: Node, top: Node, table: Node) -> Node:
    """The steps from a table up to `top`, over the table's changes instead."""
    return changes if top is table else top.with_inputs((over(changes, top.inputs[0], table),))
