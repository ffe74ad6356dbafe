"""Python code with state: what users subclass, and how it becomes a step of the plan."""

from __future__ import annotations

import inspect
from datetime import datetime
from typing import Any, ClassVar, Protocol

from millstream.api.state import State
from millstream.plan import python
from millstream.plan.errors import Step
from millstream.plan.keyed_batch import KeyedBatch
from millstream.plan.python import StateVar


class Surroundings(Protocol):
    """What a process sees, and can ask for, while it runs."""

    watermark: datetime | None
    now: datetime

    def set_timer(self, at: datetime) -> None: ...

    def delete_timer(self, at: datetime) -> None: ...

    def set_processing_timer(self, at: datetime) -> None: ...

    def delete_processing_timer(self, at: datetime) -> None: ...


class Process:
    """Code that sees the rows of each key one by one, with state for each key.

    class Matcher(ms.Process):
        output = "liker STRING, liked STRING"
        seen = ms.MapState("STRING", "TIMESTAMP", ttl="30 days")

        def on_row(self, key, row):
            yield {"liker": row.liker, "liked": row.liked}
    """

    output: ClassVar[str] = ""
    """The columns of the rows that it yields."""
    outputs: ClassVar[dict[str, str]] = {}
    """Further outputs by name, with their columns: `yield self.out("alerts", who=…)`."""
    in_flight: ClassVar[int] = 64
    """If methods are async: how many keys of a task are awaited at once. The rows of a key come one after the other."""
    around: Surroundings | None = None

    def on_row(self, key: Any, row: Any) -> Any:
        """Called for every row of a key. Yields rows: dicts by column, or tuples in the columns' order.

        It may be async, as may the timer methods, to call services and models.
        """
        raise NotImplementedError

    def on_batch(self, batch: KeyedBatch) -> Any:
        """Instead of `on_row`: called with the rows of many keys at once; returns an Arrow batch of rows, or None.

        State is a column, too: `self.total.column()` has a value for each key, `self.total.set_column(…)` sets them.
        """
        raise NotImplementedError

    def out(self, name: str, /, **columns: Any) -> Output:
        """A row of a further output, to be yielded."""
        return Output(name, columns)

    def set_timer(self, at: datetime) -> None:
        """Calls `on_timer(key, at)` when event time reaches `at`; if that has passed, as soon as possible."""
        self._expects("on_timer")
        self._around.set_timer(at)

    def delete_timer(self, at: datetime) -> None:
        self._around.delete_timer(at)

    def set_processing_timer(self, at: datetime) -> None:
        """Calls `on_processing_timer(key, at)` when the clock reaches `at`. Batch mode does not wait for it."""
        self._expects("on_processing_timer")
        self._around.set_processing_timer(at)

    def delete_processing_timer(self, at: datetime) -> None:
        self._around.delete_processing_timer(at)

    @property
    def watermark(self) -> datetime | None:
        """How far event time has come; None: not known yet."""
        return self._around.watermark

    @property
    def now(self) -> datetime:
        """The time on the clock when the epoch began: the same again if the epoch is repeated."""
        return self._around.now

    def _expects(self, callback: str) -> None:
        if not hasattr(self, callback):
            raise TypeError(f"{type(self).__name__} sets a timer and has no {CALLBACKS[callback]} that it could call")

    @property
    def _around(self) -> Surroundings:
        if self.around is None:
            raise RuntimeError("this can only be used in on_row and on_timer")
        return self.around


class Output(tuple[str, dict[str, Any]]):
    """A row for a further output."""

    is_output = True

    def __new__(cls, name: str, columns: dict[str, Any]) -> Output:
        return super().__new__(cls, (name, columns))


CALLBACKS = {
    "on_row": "on_row(self, key, row)",
    "on_batch": "on_batch(self, batch)",
    "on_timer": "on_timer(self, key, at)",
    "on_processing_timer": "on_processing_timer(self, key, at)",
}


def described(process: object, codes: python.Codes, step: Step) -> python.ProcessCode:
    """What the plan must know about a process; an error if it cannot work."""
    kind = process if isinstance(process, type) else type(process)
    if not issubclass(kind, Process):
        raise step.error(
            "MS-PROCESS-001",
            f"was given {python.named(process)}, which is no process.",
            hint="give it a class: class Matcher(ms.Process): …",
        )
    batches = kind.on_batch is not Process.on_batch
    if kind.on_row is Process.on_row and not batches:
        raise step.error("MS-PROCESS-003", f"runs {kind.__name__}, which has no on_row.", hint=CALLBACKS["on_row"])
    for name, wanted in CALLBACKS.items():
        check_callback(kind, name, wanted, step)
    if batches:
        refuse_beside_batches(kind, step)
    outputs = {"": kind.output, **kind.outputs}
    return python.ProcessCode(
        codes.code(process),
        kind.__name__,
        python.outputs(outputs, kind.__name__, step),
        tuple(python.state(var, step) for var in states(kind)),
        hasattr(kind, "on_timer"),
        hasattr(kind, "on_processing_timer"),
        in_flight(kind, step) if not batches and any(is_async(getattr(kind, name, None)) for name in CALLBACKS) else 0,
        batches,
    )


def refuse_beside_batches(kind: type[Process], step: Step) -> None:
    """What only makes sense for one key at a time."""
    wrong = {
        "on_row": kind.on_row is not Process.on_row,
        "on_timer": hasattr(kind, "on_timer"),
        "on_processing_timer": hasattr(kind, "on_processing_timer"),
        "further outputs": bool(kind.outputs),
        "an async on_batch": is_async(kind.on_batch),
        **{f"state {var.name}, a {var.kind}": var.kind != "value" for var in states(kind)},
        **{f"state {var.name}, which expires": var.ttl_ms is not None for var in states(kind)},
    }
    found = [what for what, is_wrong in wrong.items() if is_wrong]
    if found:
        raise step.error(
            "MS-PROCESS-013",
            f"runs {kind.__name__} with on_batch, which sees the rows of many keys at once.",
            f"it also has {', '.join(found)}",
            "beside on_batch there may be values without ttl, and one output; for anything else, use on_row",
        )


def is_async(callback: object) -> bool:
    return inspect.iscoroutinefunction(callback) or inspect.isasyncgenfunction(callback)


def in_flight(kind: type[Process], step: Step) -> int:
    if isinstance(kind.in_flight, bool) or not isinstance(kind.in_flight, int) or kind.in_flight < 1:
        raise step.error(
            "MS-PROCESS-012",
            f"runs {kind.__name__}, which cannot await anything with this in_flight.",
            f"in_flight = {kind.in_flight!r}",
            "in_flight is a whole number above 0",
        )
    return kind.in_flight


def check_callback(kind: type, name: str, wanted: str, step: Step) -> None:
    found = getattr(kind, name, None)
    if found is None:
        return
    try:
        inspect.signature(found).bind(*[None] * (wanted.count(",") + 1))
    except TypeError:
        given = f"{name}{inspect.signature(found)}"
        raise step.error(
            "MS-PROCESS-003", f"runs {kind.__name__}.{name}, which cannot be called so.", given, wanted
        ) from None


def states(kind: type) -> list[StateVar]:
    """The state that a class and its base classes declare, in order."""
    found: dict[str, StateVar] = {}
    for part in reversed(kind.__mro__):
        for name, var in vars(part).items():
            if isinstance(var, State):
                found[name] = StateVar(name, var.kind, var.type, var.key_type, var.ttl_ms)
    return list(found.values())
