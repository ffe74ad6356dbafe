"""Windows of time: a row belongs to one or more stretches of it, and is counted in each."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from millstream.errors import MillstreamError
from millstream.plan import build, nodes, operators
from millstream.plan.aggregates import END, START, Closing, Keyed
from millstream.plan.errors import Step, here
from millstream.plan.expressions import Expr, field
from millstream.plan.modes import milliseconds
from millstream.plan.node import Node
from millstream.plan.times import time_hint


@dataclass(frozen=True)
class Regular:
    """Windows of one size, a new one every so often. `every` below `size`: they overlap; above: there are gaps."""

    size_ms: int
    every_ms: int

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


def tumbling(size: str) -> Window:
    """Windows that follow one another: `tumbling("1 minute")`."""
    length = positive("size", size)
    return Regular(length, length)


def hopping(size: str, every: str) -> Window:
    """Windows that overlap: `hopping("10 seconds", every="2 seconds")`.

    With `every` above `size` there are gaps between them, and rows that are in no window.
    """
    return Regular(positive("size", size), positive("every", every))


def session(gap: str) -> Window:
    """One window per stretch of activity: it ends when nothing came for `gap`. `session("10 minutes")`."""
    return Session(positive("gap", gap))


def sliding(size: str) -> Window:
    """What came in the last so-and-so long: results change when a row comes in and when one leaves.
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
    """Rows, each once per window that it is in, with the window's start and end; and when windows close."""

    node: Node
    window: Window
    closing: Closing


def windowed(node: Node, window: Window, allowed_lateness: str) -> Windowed:
    step = Step("window", here())
    at = field(time_of(node, step))
    time = f"unix_micros({at})"
    timed: Node = nodes.Filter(None, step.at, node, Expr(f"NOT {at} IS NULL"))
    start = f"{time} - pmod({time}, {window.every_ms * 1000})" if isinstance(window, Regular) else time
    length = window.gap_ms if isinstance(window, Session) else window.size_ms
    if isinstance(window, Regular) and window.every_ms != window.size_ms:
        starts = f"TRANSFORM({steps(window)}, i -> {start} - i * {window.every_ms * 1000})"
        inside = f"FILTER({starts}, s -> s + {length * 1000} > {time})"
        shared = None if window.size_ms % window.every_ms else window.overlap
        timed = nodes.Hops(None, step.at, timed, Expr(inside), "_start", Expr(start), window.every_ms, shared)
        start = field("_start")
    end = f"{start} + {length * 1000}"
    named = [Keyed(START, Expr(f"timestamp_micros({start})")), Keyed(END, Expr(f"timestamp_micros({end})"))]
    chosen = [build.carried(column) for column in node.columns if column.name not in (START, END)]
    placed = nodes.Project(None, step.at, timed, build.distinct_names([*chosen, *named], step))
    allowed = milliseconds(allowed_lateness)
    if allowed and isinstance(window, Sliding):
        raise endless("window", "corrects a sliding window after its end")
    if not isinstance(window, Sliding):
        # Rows that a join let wait are in time: windows wait for them.
        allowed += node.lag or 0
    return Windowed(placed, window, Closing(END, allowed, length_ms=length))


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


def final(node: operators.Aggregate, closing: Closing, time: str | None) -> Node:
    """The results of windows that are closed; `time`: a column more, with the last moment of each."""
    step = Step("final", here())
    once = replace(node, at=step.at, closing=replace(closing, final=True))
    if time is None:
        return once
    moment = Keyed(time, Expr(f"timestamp_micros(unix_micros({field(END)}) - 1000)"))
    chosen = build.distinct_names([*(build.carried(column) for column in once.columns), moment], step)
    return nodes.Timed(None, step.at, nodes.Project(None, step.at, once, chosen), time)


def aggregate(rows: Windowed, keys: tuple[Keyed, ...], named: dict[str, str]) -> operators.Aggregate:
    """One row per window and group; of a sliding window, there is one per group."""
    if isinstance(rows.window, Sliding):
        if not keys:
            raise Step("agg", here()).error("MS-AGG-005", "groups by nothing.", hint="name at least one column")
        return build.aggregate(operators.Expire(None, here(), rows.node, rows.closing), keys, named)
    every = (*(Keyed(name, Expr(field(name))) for name in (START, END)), *keys)
    made = build.aggregate(rows.node, every, named, rows.closing)
    if isinstance(rows.window, Session):
        content = {part.name: getattr(made, part.name) for part in fields(made)}
        return operators.Sessions(**content, gap_ms=rows.window.gap_ms)
    return made
