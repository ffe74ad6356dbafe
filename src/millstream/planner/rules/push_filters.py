"""Moves conditions on one side of a join before it: rows that are filtered out need no state."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.plan.changing import steady
from millstream.plan.dialect import render
from millstream.plan.expressions import Expr, field
from millstream.plan.joins import conjuncts
from millstream.plan.node import Node
from millstream.plan.nodes import Filter
from millstream.plan.two_sides import Join
from millstream.planner.dataflow import Dataflow, readers, rewrite

ON = {
    "inner": (True, True),
    "left": (False, True),
    "right": (True, False),
    "full": (False, False),
    "semi": (True, True),
    "anti": (False, True),
}
"""The sides that a condition of the join itself may filter: a row that fails it has no partner, but may go out."""
WHERE = {
    "inner": (True, True),
    "left": (True, False),
    "right": (False, True),
    "full": (False, False),
    "semi": (True, False),
    "anti": (True, False),
}
"""The sides that a condition on the result may filter: on another side it also meets rows without a partner."""


def push_filters(flow: Dataflow) -> Dataflow:
    alone = {node.name for node, by in readers(flow).items() if isinstance(node, Join) and len(by) == 1}

    def push(node: Node) -> Node:
        if isinstance(node, Join) and node.residual is not None:
            join, rest = into_sides(node, node.residual, ON[node.how])
            return replace(join, residual=rest)
        if isinstance(node, Filter) and isinstance(node.input, Join) and node.input.name in alone:
            return above(node, node.input)
        return node

    return rewrite(flow, push)


def above(node: Filter, join: Join) -> Node:
    """A condition on a join's result; what is left of it is part of an inner join's, and stays above any other."""
    moved, rest = into_sides(join, node.condition, WHERE[join.how])
    if rest is None:
        return moved
    if join.how == "inner":
        both = [join.residual.tree] if join.residual else []
        return replace(moved, residual=Expr(render(exp.and_(*both, rest.tree))))
    return replace(node, input=moved, condition=rest)


def into_sides(join: Join, condition: Expr, allowed: tuple[bool, bool]) -> tuple[Join, Expr | None]:
    """The join with the one-sided parts of a condition before it, and what is left: what changes with time is evaluated
    when two rows meet, not when each arrives."""
    sides: list[Node] = [join.left, join.right]
    rest = []
    origins = [{new: old for old, new in side.items()} for side in join.carried]
    for part in conjuncts(condition.tree):
        expr = Expr(render(part))
        side = next((i for i in (0, 1) if allowed[i] and expr.fields and expr.fields <= origins[i].keys()), None)
        if side is None or not steady(expr):
            rest.append(part)
        else:
            moved = Expr(expr.over({new: field(old) for new, old in origins[side].items()}))
            sides[side] = Filter(None, join.at, sides[side], moved)
    left = Expr(render(exp.and_(*rest))) if rest else None
    return replace(join, given=join.name, left=sides[0], right=sides[1]), left
