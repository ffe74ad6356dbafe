"""A job's plan for a drawing: boxes in columns, and edges along which rows flow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millstream.plan.connectors import SinkOptions, SourceOptions
from millstream.plan.describe import describe
from millstream.plan.node import Node, Stateful
from millstream.plan.nodes import Sink, Source
from millstream.planner.stages import JobPlan, Operator, Pass, Producer, Route


def graph(plan: JobPlan) -> dict[str, Any]:
    """`level`: 0 for sources, then one for each stage, and the last for sinks."""
    last = len(plan.stages) + 1
    boxes = [box(source, "source", 0, source.options) for source in plan.sources]
    for level, stage in enumerate(plan.stages, 1):
        boxes += [box(part, "operator", level) for part in stage.operators if isinstance(part, Stateful)]
    boxes += [box(sink, "sink", last, sink.options) for sink in plan.sinks]
    return {"boxes": boxes, "edges": edges(plan), "levels": last + 1}


def box(node: Node, kind: str, level: int, options: SourceOptions | SinkOptions | None = None) -> dict[str, Any]:
    return {
        "id": f"{kind}:{node.name}",
        "name": node.name,
        "kind": kind,
        "level": level,
        "what": describe(node).partition(": ")[2] or describe(node),
        "at": str(node.at) if node.at is not None else None,
        "system": None if options is None else options.system,
        "guarantee": getattr(options, "guarantee", None),
    }


def edges(plan: JobPlan) -> list[dict[str, Any]]:
    """A row that only rides through a level is one edge, from where it was made."""
    carried: dict[Pass, list[tuple[Producer, tuple[str, ...]]]] = {}
    found = [edge for routes in (*(stage.routes for stage in plan.stages), plan.routes) for edge in of(routes, carried)]
    return list({(edge["from"], edge["to"]): edge for edge in found}.values())


def of(
    routes: tuple[Route, ...], carried: dict[Pass, list[tuple[Producer, tuple[str, ...]]]]
) -> Iterator[dict[str, Any]]:
    for route in routes:
        steps = tuple(describe(step) for step in route.steps)
        origins = carried.get(route.producer, []) if isinstance(route.producer, Pass) else [(route.producer, ())]
        to: Operator | Sink = route.to if isinstance(route.to, Sink) else route.to.operator
        for producer, before in origins:
            if isinstance(to, Pass):
                carried.setdefault(to, []).append((producer, (*before, *steps)))
            else:
                yield {"from": name(producer), "to": name(to), "steps": [*before, *steps]}


def name(part: Producer | Sink) -> str:
    kind = "sink" if isinstance(part, Sink) else "source" if isinstance(part, Source) else "operator"
    return f"{kind}:{part.name}"
