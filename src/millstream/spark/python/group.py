"""The state of one key while a load of rows is worked off: what came with the rows, and what was changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Item = tuple[Any, int | None]
"""A value, and the time in milliseconds at which it expires."""
Ask = Callable[[str, int, int, Any], list[Any]]
"""Asks for what was too large to come along: kind, group, which, key."""
Part = list[Any] | dict[Any, Any] | set[Any]

ABSENT = object()
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
    undo: list[tuple[Part, Any, Any]] | None = None

    def __init__(self, index: int, kept: tuple[Any, ...]) -> None:
        """`kept`: the row of values; of a key that has none, all of it is None."""
        self.index = index
        filled, clean, timers, clocks, self.values = kept
        if filled:
            self.filled = filled
        if clean is not None:
            self.clean = clean
        if timers:
            self.timers = frozenset(timers)
        if clocks:
            self.clocks = frozenset(clocks)
        self.lists: list[list[Item] | None] = []
        self.maps: list[dict[Any, Item] | None] = []

    def hold(self, lists: list[Any], maps: list[Any]) -> None:
        """Lists and maps that came along."""
        self.lists = [part and [tuple(item) for item in part] for part in lists]
        self.maps = [None if part is None else {key: (value, expires) for key, value, expires in part} for part in maps]

    def begin(self) -> dict[str, Any]:
        """What a call that fails goes back to. What it changes inside lists and maps, which may be large, is noted."""
        saved = {name: copied(value) for name, value in self.__dict__.items()}
        self.undo = []
        return saved

    def note(self, part: Part, at: Any) -> None:
        """Before a place in it changes; of a list, all from there on is new."""
        if self.undo is not None:
            before = part.get(at, ABSENT) if isinstance(part, dict) else at in part if isinstance(part, set) else None
            self.undo.append((part, at, before))

    def end(self) -> None:
        """The call went well."""
        self.undo = None

    def restore(self, saved: dict[str, Any]) -> None:
        for part, at, before in reversed(self.undo or []):
            undone(part, at, before)
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


def all_listed(times: list[frozenset[int]]) -> list[list[int]]:
    """Most keys have none, and most loads no key that has."""
    return list(map(listed, times)) if any(times) else [[]] * len(times)


def copied(value: Any) -> Any:
    """One level deep: as much as there are variables."""
    return value.copy() if isinstance(value, dict | list) else value


def undone(part: Part, at: Any, before: Any) -> None:
    if isinstance(part, list):
        del part[at:]
    elif isinstance(part, set):
        part.add(at) if before else part.discard(at)
    elif before is ABSENT:
        part.pop(at, None)
    else:
        part[at] = before
