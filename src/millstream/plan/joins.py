"""Builds joins: finds the equalities of a condition, and leaves the rest as a residual."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import did_you_mean
from millstream.plan.changing import refuse, refuse_changing
from millstream.plan.closing import closed
from millstream.plan.columns import Columns, side_by_side
from millstream.plan.dialect import render
from millstream.plan.errors import Step, here
from millstream.plan.expressions import Expr, bind, field, parse, refuse_aggregates
from millstream.plan.intervals import Times, Within, bounds
from millstream.plan.modes import milliseconds
from millstream.plan.node import Node
from millstream.plan.times import time_hint
from millstream.plan.two_sides import HOWS, How, Join

PARTNERS = "whether a row has a partner must not depend on when that is asked"

SPARKS = {"outer": "full", "fullouter": "full", "leftouter": "left", "rightouter": "right"}
SPARKS |= {"leftsemi": "semi", "leftanti": "anti"}
SAID_ELSEWHERE = {name: f"did you mean {ours}?" for name, ours in SPARKS.items()}
"""Hints for what Spark calls the same joins."""


def join(left: Node, right: Node, on: str, how: str, ttl: str | None, broadcast: bool) -> Join:
    step = Step("join", here())
    kind = known_how(how, step)
    if broadcast and kind in ("right", "full"):
        raise step.error(
            "MS-JOIN-008",
            f"cannot broadcast the right side of a {kind} join: each copy would find its rows without a partner.",
            hint="leave out broadcast=",
        )
    columns = apart(left, right, step)
    tree = parse(on, step)
    refuse_aggregates(tree, step)
    pairs, rest = [], []
    for part in conjuncts(tree):
        pair = equality(part, left, right, columns, step)
        if pair is None:
            rest.append(part)
        else:
            pairs.append(pair)
    if not pairs:
        raise step.error(
            "MS-JOIN-001",
            f"joins without an equality between its sides: {on!r}.",
            hint="at least one condition must be of the form left.column = right.column, or with <=>",
        )
    residual = bind(exp.and_(*rest), joined(left, right), step) if rest else None
    refuse_moving(pairs, residual, left, right, kind, step)
    within = time_bounds(rest, left, right, step)
    ttl_ms = None if ttl is None else time_to_live(ttl, left, right, within, step)
    ends = closed(left, right, tuple(pairs)) if within is None and ttl is None else None
    return Join(None, step.at, left, right, tuple(pairs), residual, kind, within, ttl_ms, broadcast, ends)


def refuse_moving(
    pairs: list[tuple[Expr, Expr]], residual: Expr | None, left: Node, right: Node, how: How, step: Step
) -> None:
    """Of two streams, each pair is asked once: by what sends it on, which does not know who has no partner."""
    for side in (left, right):
        refuse_changing([residual, *(part for pair in pairs for part in pair)], side, step)
    if how != "inner":
        refuse([residual], f"in a {how} join", step, found=PARTNERS, hint="use it in where(), before the join")


def time_bounds(rest: list[exp.Expr], left: Node, right: Node, step: Step) -> Within | None:
    """Both bounds on the times of two streams, if there are any: without them rows can find partners forever."""
    if left.event_time is None or right.event_time is None or not (left.append_only and right.append_only):
        return None
    of_left, of_right = Join(None, None, left, right, (), None).carried
    times = Times(of_left[left.event_time], of_right[right.event_time])
    found = bounds([bind(part, joined(left, right), step).tree for part in rest], times)
    if found.least is None or found.most is None:
        return None
    if found.least > found.most:
        raise step.error(
            "MS-JOIN-005",
            f"asks for times that never agree: {shown(times.right)} at least {found.least / 1e6:g} and at most "
            f"{found.most / 1e6:g} seconds after {shown(times.left)}.",
            hint=f"for example {shown(times.right)} BETWEEN {shown(times.left)} AND "
            f"{shown(times.left)} + INTERVAL 10 MINUTES",
        )
    return Within(left.event_time, right.event_time, found.least // 1000, -(-found.most // 1000))


def shown(name: str) -> str:
    return Expr(field(name)).shown


def time_to_live(ttl: str, left: Node, right: Node, within: Within | None, step: Step) -> int:
    length = milliseconds(ttl)
    if within is not None:
        raise step.error(
            "MS-JOIN-006",
            "has a ttl, and times in its condition that say how long rows are kept.",
            hint="leave out ttl=",
        )
    if length < 1:
        raise step.error("MS-JOIN-006", f"cannot keep rows for {ttl!r}.", hint="give a length above 0")
    if not any(side.append_only and side.event_time is not None for side in (left, right)):
        raise step.error(
            "MS-JOIN-007",
            "has a ttl, and no stream with a time: it cannot know how old rows are.",
            hint=time_hint(left if left.append_only else right),
        )
    return length


def known_how(how: str, step: Step) -> How:
    found: How | None = next((kind for kind in HOWS if kind == how), None)
    if found is None:
        raise step.error(
            "MS-JOIN-004",
            f"cannot join {how!r}.",
            found="one of: " + ", ".join(HOWS),
            hint=SAID_ELSEWHERE.get(str(how).lower().replace("_", "")) or did_you_mean(str(how), list(HOWS)),
        )
    return found


def joined(left: Node, right: Node) -> Columns:
    return side_by_side(left.columns, right.columns)


def apart(left: Node, right: Node, step: Step) -> Columns:
    """The columns of both sides, which must be told apart by their aliases."""
    columns = joined(left, right)
    fields_ = [column.field.lower() for column in columns]
    double = next((column for column in columns if fields_.count(column.field.lower()) > 1), None)
    if double is not None:
        raise step.error(
            "MS-JOIN-003",
            f"has {double.label} on both sides.",
            hint='give each side an alias: left.as_("l").join(right.as_("r"), on="l.id = r.id")',
        )
    return columns


def conjuncts(tree: exp.Expr) -> list[exp.Expr]:
    if isinstance(tree, exp.Paren):
        return conjuncts(tree.this)
    if isinstance(tree, exp.And):
        return [*conjuncts(tree.this), *conjuncts(tree.expression)]
    return [tree]


def equality(part: exp.Expr, left: Node, right: Node, columns: Columns, step: Step) -> tuple[Expr, Expr] | None:
    """`l.x = r.y` as a pair of expressions, each over its own side; None for any other condition.

    `l.x <=> r.y` is an equality of structs: these are equal where both hold NULL, and never NULL themselves.
    """
    bound = bind(part, columns, step)
    if not isinstance(bound.tree, exp.EQ | exp.NullSafeEQ):
        return None
    one, other = (Expr(render(side)) for side in (bound.tree.this, bound.tree.expression))
    if isinstance(bound.tree, exp.NullSafeEQ):
        one, other = (Expr(f"STRUCT({side.sql} AS `v`)") for side in (one, other))
    probe = Join(None, None, left, right, (), None)
    of_left, of_right = ({new: old for old, new in side.items()} for side in probe.carried)
    for a, b in ((one, other), (other, one)):
        if a.fields and b.fields and a.fields <= of_left.keys() and b.fields <= of_right.keys():
            return Expr(a.over(lambda f: field(of_left[f]))), Expr(b.over(lambda f: field(of_right[f])))
    return None
