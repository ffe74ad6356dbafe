"""Moves conditions on one side of a join in front of it: what is filtered out needs no state."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.plan.build import conjuncts
from millstream.plan.expressions import Expr, field, render
from millstream.plan.node import Node
from millstream.plan.nodes import Filter
from millstream.plan.operators import Join
from millstream.planner.dataflow import Dataflow, readers, rewrite


def push_filters(flow: Dataflow) -> Dataflow:
    alone = {node.name for node, by in readers(flow).items() if isinstance(node, Join) and len(by) == 1}

    def push(node: Node) -> Node:
        if isinstance(node, Join) and node.residual is not None:
            return into_sides(node, node.residual)
        if isinstance(node, Filter) and isinstance(node.input, Join) and node.input.name in alone:
            return into_sides(node.input, node.condition)
        return node

    return rewrite(flow, push)


def into_sides(join: Join, condition: Expr) -> Node:
    """The join with each part of the condition where it belongs: left, right, or after the match."""
    sides: list[Node] = [join.left, join.right]
    rest = [] if condition is join.residual or join.residual is None else [join.residual.tree]
    origins = [{new: old for old, new in side.items()} for side in join.carried]
    for part in conjuncts(condition.tree):
        expr = Expr(render(part))
        side = next((i for i in (0, 1) if expr.fields and expr.fields <= origins[i].keys()), None)
        if side is None:
            rest.append(part)
        else:
            moved = Expr(expr.over({new: field(old) for new, old in origins[side].items()}))
            sides[side] = Filter(None, join.at, sides[side], moved)
    residual = Expr(render(exp.and_(*rest))) if rest else None
    return replace(join, given=join.name, left=sides[0], right=sides[1], residual=residual)
