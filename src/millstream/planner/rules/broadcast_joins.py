"""Copies the right side of a join that asks for it, and spreads the left over the copies: for keys with very many rows.

left row ── by its hash ──▶ (key, 3)          right row ──▶ (key, 0), (key, 1), … (key, 15)
"""

from __future__ import annotations

from dataclasses import replace

from millstream.plan.expressions import Expr, field
from millstream.plan.node import Node
from millstream.plan.nodes import Copies
from millstream.plan.two_sides import COPY, Join
from millstream.planner.dataflow import Dataflow, rewrite

COPIES = 16
"""The same for every parallelism: a row's copy is part of its key in saved state."""


def broadcast_joins(flow: Dataflow) -> Dataflow:
    return rewrite(flow, copy)


def copy(node: Node) -> Node:
    if not isinstance(node, Join) or not node.broadcast:
        return node
    copies = Copies(None, node.at, node.right, Expr(f"SEQUENCE(0, {COPIES - 1})"), COPY)
    told_by = ", ".join(field(name) for name in node.left.key or node.left.carries)
    pair = (Expr(f"PMOD(HASH({told_by}), {COPIES})"), Expr(field(COPY)))
    return replace(node, given=node.name, right=copies, on=(*node.on, pair))
