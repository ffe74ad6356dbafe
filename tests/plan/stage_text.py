"""A job's stages as text: what each hosts, and which rows are routed to it."""

from __future__ import annotations

from millstream.plan.describe import describe
from millstream.plan.node import Node
from millstream.plan.nodes import Alias, Declared, Keep, Sink
from millstream.planner.stages import JobPlan, Pass, Port, Route


def stage_text(plan: JobPlan) -> str:
    lines = ["sources: " + ", ".join(source.name for source in plan.sources)]
    for number, stage in enumerate(plan.stages, 1):
        lines.append(f"stage {number}")
        lines += [f"  hosts {hosted(operator)}" for operator in stage.operators]
        lines += [f"  {routed(route)}" for route in stage.routes]
    lines.append("sinks")
    lines += [f"  {routed(route)}" for route in plan.routes]
    return "\n".join(lines)


def hosted(operator: Node | Pass) -> str:
    return operator.name if isinstance(operator, Pass) else describe(operator)


def routed(route: Route) -> str:
    steps = " | ".join(step(node) for node in route.steps)
    again = f" (copy {route.copy})" if route.copy else ""
    return f"{route.producer.name} -> {steps + ' -> ' if steps else ''}{target(route.to)}{again}"


def step(node: Node) -> str:
    match node:
        case Keep():
            return "keep " + ", ".join(node.kept)
        case Declared():
            return "key " + ", ".join(node.declared)
        case Alias():
            return f"as {node.alias}"
        case _:
            return describe(node)


def target(to: Port | Sink) -> str:
    return f"sink {to.name}" if isinstance(to, Sink) else f"{to.operator.name}.{to.side}"
