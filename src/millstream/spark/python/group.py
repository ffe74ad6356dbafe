"""The state of one key while a load of rows is worked off: what came with the rows, and what was changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Item = tuple[Any, int | None]
"""A value, and the time in milliseconds at which it expires."""
Ask = Callable[[str, int, int, Any], list[Any]]
"""Asks for what was too large to come along: kind, group, which, key."""

NONE: frozenset[Any] = frozenset()


class Group:
    """A key's state. Maps and lists that are None here are large, and asked for when they are read.

    What most keys never have stands in the class, so that a key costs little.
    """

    filled = 0
    clean: int | None = None
    timers: frozenset[int] = NONE
    clocks: frozenset[int] = NONE
    written = False
    cleared: frozenset[str] = NONE
    new_timers: frozenset[int] = NONE
    deleted_timers: frozenset[int] = NONE
    new_clocks: frozenset[int] = NONE
    deleted_clocks: frozenset[int] = NONE
    new_items: dict[int, list[Item]] | None = None
    puts: dict[int, dict[Any, Item]] | None = None
    removed: dict[int, set[Any]] | None = None
    asked: dict[int, dict[Any, Item | None]] | None = None

    def __init__(self, index: int, kept: Any, lists: list[Any], maps: list[Any], values: int) -> None:
        self.index = index
        if kept is None:
            self.values: list[Item | None] = [None] * values
        else:
            self.filled, self.clean, timers, clocks, *items = kept
            self.values = [None if item is None else tuple(item) for item in items]
            if timers:
                self.timers = frozenset(timers)
            if clocks:
                self.clocks = frozenset(clocks)
        self.lists: list[list[Item] | None] = [part and [tuple(item) for item in part] for part in lists]
        self.maps: list[dict[Any, Item] | None] = [
            None if part is None else {key: (value, expires) for key, value, expires in part} for part in maps
        ]

    def copy(self) -> dict[str, Any]:
        """All of it, so that a call that failed can be taken back."""
        return {name: copied(value) for name, value in self.__dict__.items()}

    def restore(self, saved: dict[str, Any]) -> None:
        self.__dict__ = saved

    @property
    def changed(self) -> bool:
        """All changes but that of a map or list that was not empty before say so in the row of values, too."""
        return bool(
            self.written
            or self.new_items
            or self.puts
            or self.removed
            or self.cleared
            or self.new_timers
            or self.deleted_timers
            or self.new_clocks
            or self.deleted_clocks
        )

    def row(self) -> tuple[Any, ...] | None:
        """What is kept in the row of values; None: nothing at all."""
        if not (self.filled or self.clean is not None or self.timers or self.clocks or any(self.values)):
            return None
        return self.filled, self.clean, listed(self.timers), listed(self.clocks), *self.values


def listed(times: frozenset[int]) -> list[int]:
    return sorted(times) if times else []


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: copied(part) for key, part in value.items()}
    if isinstance(value, list):
        return [copied(part) for part in value]
    return set(value) if isinstance(value, set) else value
