"""Lets overlapping windows share the figures of the stretches that they have in common: their panes.

row ──▶ every window that it is in          row ──▶ its pane ──▶ every window that the pane is part of
"""

from __future__ import annotations

from dataclasses import fields, replace

from millstream.plan.aggregates import END, START
from millstream.plan.expressions import Expr, field
from millstream.plan.node import Node
from millstream.plan.nodes import Hops, Project
from millstream.plan.operators import Aggregate, Hopping
from millstream.planner.dataflow import Dataflow, rewrite


def share_panes(flow: Dataflow) -> Dataflow:
    return rewrite(flow, share)


def share(node: Node) -> Node:
    if type(node) is not Aggregate or not isinstance(node.input, Project):
        return node
    hops = node.input.input
    if not isinstance(hops, Hops) or hops.shared is None or not suits(node):
        return node
    content = {part.name: getattr(node, part.name) for part in fields(node)}
    content |= {"given": node.name, "input": placed(node.input, hops)}
    return Hopping(**content, windows=hops.shared, every_ms=hops.every_ms)


def suits(node: Aggregate) -> bool:
    """Whether panes can be added up: rows do not go, do not wait, and no figure is about the window itself."""
    others = [*(part.fields for part in node.figures), *(part.expr.fields for part in node.keys[2:])]
    plain = not {START, END} & frozenset().union(*others)
    small = not any(part.computed.large for part in node.figures)
    return plain and small and node.input.append_only and node.input.lag is None


def placed(project: Project, hops: Hops) -> Project:
    """The rows, each once, with its last window."""

    def place(name: str) -> str:
        return hops.pane.sql if name == hops.element else field(name)

    exprs = tuple(replace(part, expr=Expr(part.expr.over(place))) for part in project.exprs)
    return replace(project, input=hops.input, exprs=exprs)
