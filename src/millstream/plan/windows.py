"""Windows of time: a row belongs to one or more stretches of it, and is counted in each."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from millstream.errors import MillstreamError
from millstream.plan import build, nodes, operators
from millstream.plan.aggregates import END, START, Closing
from millstream.plan.changing import refuse
from millstream.plan.errors import Step, here
from millstream.plan.expressions import Expr, NamedExpr, field
from millstream.plan.modes import milliseconds
from millstream.plan.node import Node
from millstream.plan.times import time_hint


@dataclass(frozen=True)
class Regular:
    """Windows of one size, a new one at every `every`. `every` below `size`: they overlap; above: there are gaps.

    `offset`: by how much they begin later than those that begin at 1970-01-01, in UTC.
    """

    size_ms: int
    every_ms: int
    offset_ms: int = 0

    @property
    def overlap(self) -> int:
        """In how many windows a row can be."""
        return -(-self.size_ms // self.every_ms)


@dataclass(frozen=True)
class Session:
    """Windows around rows that are no further apart than a gap."""

    gap_ms: int


@dataclass(frozen=True)
class Sliding:
    """The last stretch of time, up to now."""

    size_ms: int


Window = Regular | Session | Sliding


def tumbling(size: str, *, offset: str = "0 seconds") -> Window:
    """Windows that follow one another: `tumbling("1 minute")`.

    They begin at whole minutes, hours, days in UTC, or later by `offset`: `tumbling("1 day", offset="6 hours")`.
    """
    length = positive("size", size)
    return Regular(length, length, milliseconds(offset))


def hopping(size: str, every: str, *, offset: str = "0 seconds") -> Window:
    """Windows that overlap: `hopping("10 seconds", every="2 seconds")`.

    With `every` above `size` there are gaps between them, and rows that are in no window. `offset`: by how much later
    they begin.
    """
    return Regular(positive("size", size), positive("every", every), milliseconds(offset))


def session(gap: str) -> Window:
    """One window per period of activity: it ends when nothing has come for `gap`. `session("10 minutes")`."""
    return Session(positive("gap", gap))


def sliding(size: str) -> Window:
    """What came in the last `size`: results change when a row comes in and when one leaves.
    `sliding("5 minutes")`."""
    return Sliding(positive("size", size))


def positive(what: str, text: str) -> int:
    length = milliseconds(text)
    if length < 1:
        raise MillstreamError(
            "MS-WINDOW-002", f"a window's {what} cannot be {text!r}.", at=here(), hint="give a length above 0"
        )
    return length


@dataclass(frozen=True)
class Windowed:
    """Rows, each once per window that it is in, with the window's start and end; and when windows close.

    A row without a time has NULLs there: it is in no window, and counted among those that are late.
    """

    node: Node
    window: Window
    closing: Closing


def windowed(node: Node, window: Window, allowed_lateness: str) -> Windowed:
    step = Step("window", here())
    if not isinstance(window, Window):
        raise step.error(
            "MS-WINDOW-005", f"was given {window!r}, not a window.", hint='for example window(ms.tumbling("1 minute"))'
        )
    at = field(time_of(node, step))
    time = f"unix_micros({at})"
    timed = node
    start = beginning(time, window) if isinstance(window, Regular) else time
    length = window.gap_ms if isinstance(window, Session) else window.size_ms
    if isinstance(window, Regular) and window.every_ms != window.size_ms:
        starts = f"TRANSFORM({steps(window)}, i -> {start} - i * {window.every_ms * 1000})"
        inside = f"FILTER({starts}, s -> s + {length * 1000} > {time})"
        inside = f"CASE WHEN {at} IS NULL THEN ARRAY(CAST(NULL AS BIGINT)) ELSE {inside} END"
        shared = None if window.size_ms % window.every_ms else window.overlap
        timed = nodes.Hops(None, step.at, timed, Expr(inside), "_start", Expr(start), window.every_ms, shared)
        start = field("_start")
    end = f"{start} + {length * 1000}"
    named = [NamedExpr(START, Expr(f"timestamp_micros({start})")), NamedExpr(END, Expr(f"timestamp_micros({end})"))]
    chosen = [build.carried(column) for column in node.columns if column.name not in (START, END)]
    placed = nodes.Project(None, step.at, timed, build.distinct_names([*chosen, *named], step))
    allowed = milliseconds(allowed_lateness)
    if allowed and isinstance(window, Sliding):
        raise endless("window", "corrects a sliding window after its end")
    if not isinstance(window, Sliding):
        # Rows that a join let wait are in time: windows wait for them.
        allowed += node.lag or 0
    return Windowed(placed, window, Closing(END, allowed, length_ms=length, touching=isinstance(window, Session)))


def beginning(time: str, window: Regular) -> str:
    """Of the last window that a time is in."""
    later = f"{time} - {window.offset_ms * 1000}" if window.offset_ms else time
    return f"{time} - pmod({later}, {window.every_ms * 1000})"


def steps(window: Regular) -> str:
    """How many steps back the windows of a row begin. As BIGINTs where the microseconds do not fit into an INT."""
    last = window.overlap - 1
    if last * window.every_ms * 1000 < 1 << 31:
        return f"SEQUENCE(0, {last})"
    return f"SEQUENCE(CAST(0 AS BIGINT), CAST({last} AS BIGINT))"


def endless(call: str, what: str) -> MillstreamError:
    return Step(call, here()).error(
        "MS-WINDOW-004",
        f"{what}, and it has none: it moves on with time.",
        hint="use a longer one, or ms.tumbling() or ms.hopping()",
    )


def time_of(node: Node, step: Step) -> str:
    if node.event_time is not None:
        return node.event_time
    raise step.error(
        "MS-WINDOW-001",
        "needs the time of each row, and does not know it.",
        found="columns: " + ", ".join(column.label for column in node.columns),
        hint=time_hint(node),
    )


def final(node: Node, time: str | None) -> Node:
    """The results of windows that are closed; `time`: adds a column with the last moment of each."""
    step = Step("final", here())
    made = build.aggregate_of(node)
    if made is not None and isinstance(made, operators.Sliding):
        raise endless("final", "waits for the end of a sliding window")
    if made is None or made.closing is None:
        raise step.error("MS-WINDOW-003", "does not follow a window's agg().", hint=final_hint(node))
    once = build.having(replace(made, at=step.at, closing=replace(made.closing, final=True)))
    if time is None:
        return once
    moment = NamedExpr(time, Expr(f"timestamp_micros(unix_micros({field(END)}) - 1000)"))
    chosen = build.distinct_names([*(build.carried(column) for column in once.columns), moment], step)
    return nodes.Timed(None, step.at, nodes.Project(None, step.at, once, chosen), time)


def final_hint(node: Node) -> str:
    if isinstance(node, nodes.Filter):
        return "write it as agg(…).final().where(…), or as having(…) before agg()"
    return "call final() right after agg(), and what follows it after that"


def aggregate(rows: Windowed, keys: tuple[NamedExpr, ...], named: dict[str, str], condition: str | None) -> Node:
    """One row per window and group; of a sliding window, one per group, or one of all rows."""
    if isinstance(rows.window, Sliding):
        return build.having(sliding_groups(rows.node, keys, named, condition, rows.window.size_ms))
    every = (*(NamedExpr(name, Expr(field(name))) for name in (START, END)), *keys)
    made = build.aggregate(rows.node, every, named, condition, rows.closing)
    if isinstance(rows.window, Session):
        content = {part.name: getattr(made, part.name) for part in fields(made)}
        made = operators.Sessions(**content, gap_ms=rows.window.gap_ms)
    return build.having(made)


def sliding_groups(
    node: Node, keys: tuple[NamedExpr, ...], named: dict[str, str], condition: str | None, size_ms: int
) -> operators.Sliding:
    """What a row adds is taken back when it leaves, so it must be the same then."""
    made = build.aggregate(node, keys, named, condition)
    computed = [expr for part in made.figures for expr in (part.argument, part.by, part.where)]
    refuse(computed, "in a window that rows leave again", Step("agg", made.at))
    content = {part.name: getattr(made, part.name) for part in fields(made)}
    return operators.Sliding(**content, size_ms=size_ms)
