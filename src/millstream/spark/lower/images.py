"""What readers see of an operator's rows: a row that replaces another, and looks the same to a reader, is not sent to
it.

operator ─ before, after ─▶ image of each, for every route that reads it ─▶ equal: nothing goes that way
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millstream.plan.node import Node
from millstream.plan.nodes import Alias, Declared, Filter, Keep, Project, Timed
from millstream.plan.operators import Aggregate, Collapse, Latest, Top
from millstream.planner.stages import JobPlan, Operator, Pass, Port, Route
from millstream.spark.lower.ports import Unpacked

REPLACING = (Aggregate, Collapse, Latest, Top)
"""Operators that replace one row of a key by another."""
MOST = 60
"""Readers that have a bit each in one number."""


def readers(plan: JobPlan, operator: Operator) -> list[Route]:
    """The routes that begin at an operator. Each has a bit: its place here."""
    routes = [route for stage in plan.stages for route in stage.routes] + list(plan.routes)
    return [route for route in routes if route.producer == operator]


def images(plan: JobPlan, operator: Operator, unpacked: Unpacked) -> tuple[str | None, ...]:
    """SQL for what each reader sees of a row; None: all of it. Nothing at all if that holds for every reader."""
    routes = readers(plan, operator)
    if not isinstance(operator, REPLACING) or len(routes) > MOST:
        return ()
    found = tuple(image(route, operator, dict(unpacked.fields)) for route in routes)
    return found if any(found) else ()


def image(route: Route, operator: Node, places: Mapping[str, str]) -> str | None:
    """Up to the first step that does more than choose rows and compute columns."""
    conditions: list[str] = []
    last: Node = operator
    seen = dict(places)
    for step in route.steps:
        match step:
            case Filter():
                conditions.append(f"({step.condition.over(seen)})")
            case Project():
                seen = {part.name: part.expr.over(seen) for part in step.exprs}
            case Keep():
                seen = {name: seen[name] for name in step.kept}
            case Alias() | Declared() | Timed():
                pass
            case _:
                break
        last = step
    whole = last is (route.steps[-1] if route.steps else operator)
    fields = sorted(read(route, seen) if whole else seen)
    if not conditions and {*places.values()} <= {seen[name] for name in fields}:
        return None
    values = ", ".join(f"{seen[name]} AS f{i}" for i, name in enumerate(fields))
    row = f"STRUCT({values or '1 AS f0'})"
    return f"CASE WHEN {' AND '.join(conditions)} THEN {row} END" if conditions else row


def read(route: Route, seen: Mapping[str, str]) -> set[str]:
    """The fields that the route's end reads."""
    if not isinstance(route.to, Port) or isinstance(route.to.operator, Pass):
        return {*seen}
    operator = route.to.operator
    return operator.reads({*operator.carries})[route.to.side] & seen.keys()


def seen_by(routes: Sequence[Route], route: Route) -> str:
    """Whether a change is one to a reader."""
    return f"(`_seen` & {1 << routes.index(route)}L) <> 0L"
