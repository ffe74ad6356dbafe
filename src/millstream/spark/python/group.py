"""The state of one key while a load of rows is worked off: what came with the rows, and what was changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Item = tuple[Any, int | None]
"""A value, and the time in milliseconds at which it expires."""
Ask = Callable[[str, int, int, Any], list[Any]]
"""Asks for what was too large to come along: kind, group, which, key."""


class Group:
    """A key's state. Maps and lists that are None here are large, and asked for when they are read."""

    __slots__ = (
        "asked",
        "clean",
        "cleared",
        "clocks",
        "deleted_clocks",
        "deleted_timers",
        "filled",
        "index",
        "lists",
        "maps",
        "new_clocks",
        "new_items",
        "new_timers",
        "puts",
        "removed",
        "timers",
        "values",
        "written",
    )

    def __init__(self, index: int, kept: Any, lists: list[Any], maps: list[Any], values: int) -> None:
        self.index = index
        self.filled: int = kept[0] if kept is not None else 0
        self.clean: int | None = kept[1] if kept is not None else None
        self.timers: frozenset[int] = frozenset(kept[2] or ()) if kept is not None else frozenset()
        self.clocks: frozenset[int] = frozenset(kept[3] or ()) if kept is not None else frozenset()
        self.values: list[Item | None] = (
            [item and (item[0], item[1]) for item in kept[4:]] if kept is not None else [None] * values
        )
        self.lists: list[list[Item] | None] = [part and [(item[0], item[1]) for item in part] for part in lists]
        self.maps: list[dict[Any, Item] | None] = [
            None if part is None else {entry[0]: (entry[1], entry[2]) for entry in part} for part in maps
        ]
        self.written = False
        self.new_items: dict[int, list[Item]] = {}
        self.puts: dict[int, dict[Any, Item]] = {}
        self.removed: dict[int, set[Any]] = {}
        self.cleared: frozenset[str] = frozenset()
        self.asked: dict[int, dict[Any, Item | None]] = {}
        self.new_timers: frozenset[int] = frozenset()
        self.deleted_timers: frozenset[int] = frozenset()
        self.new_clocks: frozenset[int] = frozenset()
        self.deleted_clocks: frozenset[int] = frozenset()

    def copy(self) -> list[Any]:
        """All of it, so that a call that failed can be taken back."""
        return [copied(getattr(self, name)) for name in self.__slots__]

    def restore(self, saved: list[Any]) -> None:
        for name, value in zip(self.__slots__, saved, strict=True):
            setattr(self, name, value)

    @property
    def changed(self) -> bool:
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
        return self.filled, self.clean, sorted(self.timers), sorted(self.clocks), *self.values


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: copied(part) for key, part in value.items()}
    if isinstance(value, list):
        return [copied(part) for part in value]
    return set(value) if isinstance(value, set) else value
