"""Moves unions down to the stage that reads them: a step over a union becomes a union of steps."""

from __future__ import annotations

from millstream.plan.node import Node, Stateless
from millstream.plan.nodes import Union
from millstream.planner.dataflow import Dataflow, rewrite


def lift_unions(flow: Dataflow) -> Dataflow:
    return rewrite(flow, lift)


def lift(node: Node) -> Node:
    if isinstance(node, Union):
        return Union(node.given, node.at, tuple(inner for part in node.parts for inner in parts(part)))
    if isinstance(node, Stateless) and isinstance(node.inputs[0], Union):
        union = node.inputs[0]
        return Union(None, union.at, tuple(node.with_inputs((part, *node.inputs[1:])) for part in union.parts))
    return node


def parts(node: Node) -> tuple[Node, ...]:
    return node.parts if isinstance(node, Union) else (node,)
