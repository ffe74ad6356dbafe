"""Moves conditions on the stream before the enrichment: rows that are filtered out need not be looked up, nor wait."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.plan.changing import steady
from millstream.plan.dialect import render
from millstream.plan.expressions import Expr, field
from millstream.plan.joins import conjuncts
from millstream.plan.node import Node
from millstream.plan.nodes import Filter
from millstream.plan.two_sides import Enrich
from millstream.planner.dataflow import Dataflow, readers, rewrite


def filter_before_enrich(flow: Dataflow) -> Dataflow:
    alone = {node.name for node, by in readers(flow).items() if isinstance(node, Enrich) and len(by) == 1}

    def move(node: Node) -> Node:
        if isinstance(node, Filter) and isinstance(node.input, Enrich) and node.input.name in alone:
            return moved(node, node.input)
        return node

    return rewrite(flow, move)


def moved(node: Filter, enrich: Enrich) -> Node:
    """Not conditions on the table: a row would then find another version, or none, and be sent with NULLs."""
    origins = {new: field(old) for old, new in enrich.pairing.carried[0].items()}
    first: list[exp.Expr] = []
    then: list[exp.Expr] = []
    for part in conjuncts(node.condition.tree):
        asked = Expr(render(part))
        ahead = asked.fields and asked.fields <= origins.keys() and steady(asked)
        (first if ahead else then).append(part)
    if not first:
        return node
    condition = Expr(Expr(render(exp.and_(*first))).over(origins))
    stream = Filter(None, node.at, enrich.left, condition)
    before = replace(enrich, given=enrich.name, left=stream)
    return Filter(node.given, node.at, before, Expr(render(exp.and_(*then)))) if then else before
