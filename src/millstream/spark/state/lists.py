"""The lists that a job's state consists of: for each operator its state variables, and its timers.

Where a list is in a stage (column family, tag, slots) is known by the shape that the checkpoint keeps of its state. A
row of a list has none of that: its operator's own key columns, and what is kept there.

    value  key, value     list  key, index, value     map  key, entry, value     timers  key, at_ms
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from millstream.spark.lower.state import Placed, StageShape

TIMERS = "timers"
"""The name of the list of timers by event time, and the kind of every list of timers."""
BY_EVENT_TIME = "$eventTimers_timestampToKey"
BY_CLOCK = "$procTimers_timestampToKey"


@dataclass(frozen=True)
class Key:
    """A key column of an operator: where it is in the stage's key."""

    at: int
    name: str


@dataclass(frozen=True)
class StateList:
    """One list of an operator's state. `stage`: as Spark counts them, from the last one. `tag`: whose rows they are,
    where several operators share a family. `number`: the operator's tag, whether it tells rows apart here or not."""

    stage: int
    operator: str
    name: str
    kind: str
    family: str
    tag: int | None
    number: int | None
    keys: tuple[Key, ...]


def lists_of(stages: Sequence[StageShape]) -> list[StateList]:
    """All lists of a job's state."""
    last = len(stages) - 1
    return [
        one
        for number, stage in enumerate(stages)
        for name, placed in stage.operators.items()
        for one in of_operator(last - number, stage, name, placed)
    ]


def of_operator(number: int, stage: StageShape, operator: str, placed: Placed) -> Iterator[StateList]:
    keys = key_columns(placed)
    for variable in placed.state.variables:
        clock = variable.kind == TIMERS
        family = BY_CLOCK if clock else f"{operator}_{variable.name}"
        tag = placed.tag if clock else None
        yield StateList(number, operator, variable.name, variable.kind, family, tag, placed.tag, keys)
    if stage.timers:
        yield StateList(number, operator, TIMERS, TIMERS, BY_EVENT_TIME, placed.tag, placed.tag, keys)


def key_columns(placed: Placed) -> tuple[Key, ...]:
    """Named as the user wrote them. Rows without a key that are spread over groups have one more."""
    first = 0 if placed.tag is None else 1
    names = [*placed.state.by, *["group"] * (len(placed.state.key) - len(placed.state.by))]
    return tuple(Key(first + slot, name) for slot, name in zip(placed.slots, distinct(names), strict=True))


def distinct(names: Sequence[str]) -> list[str]:
    """A second list of the same name gets a number."""
    found: list[str] = []
    for name in names:
        others = sum(other == name or other.startswith(f"{name} ") for other in found)
        found.append(f"{name} {others + 1}" if name in found else name)
    return found
