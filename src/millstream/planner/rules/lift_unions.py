"""Moves unions down to the stage that reads them: a step over a union becomes a union of steps."""

from __future__ import annotations

from millstream.plan.lookup import Lookup
from millstream.plan.node import Node
from millstream.plan.nodes import Alias, Changes, Declared, Explode, Filter, Keep, Project, Timed, Union
from millstream.plan.python import Call
from millstream.planner.dataflow import Dataflow, rewrite

STEPS = (Alias, Call, Changes, Declared, Explode, Filter, Keep, Lookup, Project, Timed)


def lift_unions(flow: Dataflow) -> Dataflow:
    return rewrite(flow, lift)


def lift(node: Node) -> Node:
    if isinstance(node, Union):
        return Union(node.given, node.at, tuple(inner for part in node.parts for inner in parts(part)))
    if isinstance(node, STEPS) and isinstance(node.inputs[0], Union):
        union = node.inputs[0]
        return Union(None, union.at, tuple(node.with_inputs((part, *node.inputs[1:])) for part in union.parts))
    return node


def parts(node: Node) -> tuple[Node, ...]:
    return node.parts if isinstance(node, Union) else (node,)
