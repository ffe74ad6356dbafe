"""Relations as sets: distinct, intersect, except. All are aggregates by every column."""

from __future__ import annotations

from millstream.plan import build, nodes
from millstream.plan.aggregates import Figure, Result
from millstream.plan.errors import Step, here
from millstream.plan.expressions import Expr, NamedExpr, field
from millstream.plan.node import Node
from millstream.plan.operators import Aggregate


def distinct(input: Node) -> Aggregate:
    """Each row once."""
    step = Step("distinct", here())
    return Aggregate(None, step.at, input, columns(input, step), (), ())


def columns(input: Node, step: Step) -> tuple[NamedExpr, ...]:
    return build.distinct_names([build.carried(column) for column in input.columns], step)


def intersect(left: Node, right: Node, every: bool) -> Node:
    """Rows that are on both sides; `every`: as often as on the side that has fewer."""
    both = counts(left, right, "intersect")
    return chosen(both, "`_left` > 0 AND `_right` > 0", "LEAST(`_left`, `_right`)" if every else None)


def except_(left: Node, right: Node, every: bool) -> Node:
    """Rows of the left side that are not on the right; `every`: as often as there are more of them."""
    both = counts(left, right, "except_")
    if every:
        return chosen(both, "`_left` > `_right`", "`_left` - `_right`")
    return chosen(both, "`_left` > 0 AND `_right` = 0", None)


def chosen(counted: Aggregate, condition: str, times: str | None) -> Node:
    """The rows whose counts meet a condition."""
    at = counted.at
    found: Node = nodes.Filter(None, at, counted, Expr(condition))
    if times is not None:
        found = nodes.Explode(None, at, found, Expr(f"ARRAY_REPEAT(1, CAST({times} AS INT))"), "_each")
    return nodes.Project(None, at, found, tuple(NamedExpr(part.name, Expr(field(part.name))) for part in counted.keys))


def counts(left: Node, right: Node, call: str) -> Aggregate:
    """How often each row is on either side."""
    at = here()
    sides = [tagged(part, i, Step(call, at)) for i, part in enumerate(build.union((left, right), call).parts)]
    keys = tuple(NamedExpr(name, Expr(field(name))) for name in sides[0].carries if name != "_side")
    figures = tuple(Figure("count", None, None, Expr(f"`_side` = {i}")) for i in (0, 1))
    results = (Result("_left", "f0"), Result("_right", "f1"))
    return Aggregate(None, at, nodes.Union(None, at, tuple(sides)), keys, figures, results)


def tagged(part: Node, side: int, step: Step) -> nodes.Project:
    return nodes.Project(None, step.at, part, (*columns(part, step), NamedExpr("_side", Expr(str(side)))))
