"""The shape of saved state: all that a checkpoint depends on, and nothing of how kernels are told what to do.

Types are those of the state variables that a kernel really declares. Where types cannot say what a value means (the sum
of what, the first rows in which order), a few words do.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kept:
    """What an operator's state is by, and what types do not say of it, in the user's words."""

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
    """What an operator's saved state is, wherever it is kept. `key`: the types of what it is by."""

    by: tuple[str, ...]
    key: tuple[str, ...]
    variables: tuple[Variable, ...]
    means: tuple[str, ...]


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
