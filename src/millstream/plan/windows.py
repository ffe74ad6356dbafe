"""Windows on event time: a row belongs to one or more stretches of time, and is counted in each."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.errors import MillstreamError
from millstream.plan import nodes
from millstream.plan.aggregates import Closing, Keyed
from millstream.plan.build import carried, distinct_names
from millstream.plan.errors import Step, here
from millstream.plan.expressions import Expr, field
from millstream.plan.modes import milliseconds
from millstream.plan.node import Node

START, END = "window_start", "window_end"


@dataclass(frozen=True)
class Window:
    """Windows of one size, a new one every so often; `every` = `size`: they do not overlap."""

    size_ms: int
    every_ms: int

    @property
    def overlap(self) -> int:
        """In how many windows a row can be."""
        return -(-self.size_ms // self.every_ms)


def tumbling(size: str) -> Window:
    """Windows that follow one another: `tumbling("1 minute")`."""
    length = positive("size", size)
    return Window(length, length)


def hopping(size: str, every: str) -> Window:
    """Windows that overlap: `hopping("10 seconds", every="2 seconds")`."""
    return Window(positive("size", size), positive("every", every))


def positive(what: str, text: str) -> int:
    length = milliseconds(text)
    if length < 1:
        raise MillstreamError(
            "MS-WINDOW-002", f"a window's {what} cannot be {text!r}.", at=here(), hint="give a length above 0"
        )
    return length


def windowed(node: Node, window: Window) -> Node:
    """The rows, each once per window that it is in, with the window's start and end."""
    step = Step("window", here())
    time = node.event_time
    if time is None:
        raise step.error(
            "MS-WINDOW-001",
            "needs the time of each row, and does not know it.",
            found="columns: " + ", ".join(column.label for column in node.columns),
            hint='say it at the source: job.stream(…, time="at", lateness="10 seconds"), and keep the column',
        )
    micros = f"unix_micros({field(time)})"
    size, every = window.size_ms * 1000, window.every_ms * 1000
    first = f"{micros} - pmod({micros}, {every})"
    timed: Node = nodes.Filter(None, step.at, node, Expr(f"NOT {field(time)} IS NULL"))
    if window.overlap > 1:
        starts = f"TRANSFORM(SEQUENCE(0, {window.overlap - 1}), i -> {first} - i * {every})"
        inside = f"FILTER({starts}, s -> s + {size} > {micros})"
        timed = nodes.Explode(None, step.at, timed, Expr(inside), "_start")
        first = field("_start")
    named = [Keyed(START, Expr(f"timestamp_micros({first})")), Keyed(END, Expr(f"timestamp_micros({first} + {size})"))]
    chosen = [carried(column) for column in node.columns if column.name not in (START, END)]
    return nodes.Project(None, step.at, timed, distinct_names([*chosen, *named], step))


def keys() -> tuple[Keyed, ...]:
    return tuple(Keyed(name, Expr(field(name))) for name in (START, END))


def closing(allowed_lateness: str) -> Closing:
    return Closing(END, milliseconds(allowed_lateness))
