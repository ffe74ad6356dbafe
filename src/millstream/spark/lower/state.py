"""The shape of saved state: all that a checkpoint depends on, and nothing about the kernels' settings.

Types are those of the state variables that a kernel really declares. Where types cannot say what a value means (the sum
of what, the first rows in which order), a few words do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Kept:
    """The key of an operator's state, and what types do not say about it, in the user's words."""

    by: tuple[str, ...]
    means: tuple[str, ...] = ()


@dataclass(frozen=True)
class Variable:
    """A state variable, without the operator's name: `group`, `left`. Only a map has a `key` type."""

    name: str
    kind: str
    key: str | None
    value: str


@dataclass(frozen=True)
class StateShape:
    """What an operator's saved state is, wherever it is kept. `key`: the types of its key."""

    by: tuple[str, ...]
    key: tuple[str, ...]
    variables: tuple[Variable, ...]
    means: tuple[str, ...]
    computes: dict[str, str] = field(default_factory=dict)
    """What figures compute, by the number at the end of a field's name."""
    layout: int = 1
    """The version of how the kernel lays it out."""
    results: dict[str, str] = field(default_factory=dict)
    """By that number, the name of the result that is kept as it is."""


@dataclass(frozen=True)
class Placed:
    """The state of an operator in its stage: keys there carry its tag, and its own key in these slots."""

    tag: int | None
    slots: tuple[int, ...]
    state: StateShape


@dataclass(frozen=True)
class StageShape:
    """How a stage keeps the state of its operators; those without state are not among them.

    `key`: the tag, if it has several operators, and its slots' types. `timers`: whether it has any by event time.
    """

    key: tuple[str, ...]
    timers: bool
    operators: dict[str, Placed]

    @classmethod
    def read(cls, saved: dict[str, Any]) -> StageShape:
        """As JSON has it."""
        operators = {name: placed(one) for name, one in saved["operators"].items()}
        return cls(tuple(saved["key"]), saved["timers"], operators)


def placed(saved: dict[str, Any]) -> Placed:
    state = saved["state"]
    variables = tuple(Variable(**part) for part in state["variables"])
    more = {name: state.get(name, {}) for name in ("computes", "results")} | {"layout": state.get("layout", 1)}
    shape = StateShape(tuple(state["by"]), tuple(state["key"]), variables, tuple(state["means"]), **more)
    return Placed(saved["tag"], tuple(saved["slots"]), shape)
