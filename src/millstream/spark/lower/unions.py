"""Unions: the parts reach the operator that reads them one by one, each brought to the types of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from millstream.plan.expressions import Expr, NamedExpr, field
from millstream.plan.node import Node
from millstream.plan.nodes import Project, Sink
from millstream.planner.stages import Pass, Port, Route
from millstream.spark.lower.ports import plain
from millstream.spark.lower.router import Lane, rows_of
from millstream.spark.lower.types import cast, sql_type

if TYPE_CHECKING:
    from millstream.spark.lower.stage import Output


def widened(node: Node, parts: Sequence[tuple[DataFrame, Lane]]) -> list[Lane]:
    """The lanes of all parts of a node; where types differ, with a step more."""
    if len(parts) == 1:
        return [parts[0][1]]
    rows = [plain(node, rows_of(frame, lane)) for frame, lane in parts]
    wanted = [part.dataType for part in reduce(DataFrame.unionAll, rows).schema.fields]
    lanes = []
    for (_, lane), part in zip(parts, rows, strict=True):
        same = all(sql_type(own.dataType) == sql_type(type_) for own, type_ in zip(part.schema, wanted, strict=True))
        casts = [
            NamedExpr(name, Expr(cast(field(name), type_))) for name, type_ in zip(node.carries, wanted, strict=True)
        ]
        step = () if same else (Project(None, None, node, tuple(casts)),)
        lanes.append(replace(lane, steps=(*lane.steps, *step)))
    return lanes


def lanes(routes: Sequence[Route], upstream: Sequence[Output]) -> dict[Route, Lane]:
    """How each route is walked."""
    found: dict[Route, Lane] = {}
    for to in dict.fromkeys(route.to for route in routes):
        alike = [route for route in routes if route.to == to]
        outputs = [next(output for output in upstream if route.producer in output.producers) for route in alike]
        parts = [(output.frame, output.lane(route)) for output, route in zip(outputs, alike, strict=True)]
        found |= zip(alike, widened(read(to), parts), strict=True)
    return found


def read(to: Port | Sink) -> Node:
    if isinstance(to, Sink):
        return to.input
    return to.operator.node if isinstance(to.operator, Pass) else to.operator.inputs[to.side]
