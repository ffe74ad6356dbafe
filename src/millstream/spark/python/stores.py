"""State variables over the group that is worked on. Items are seen until they expire; see `Clock`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql.types import DataType, StructType

from millstream.spark.python.canon import canon
from millstream.spark.python.compiled import kept_check, value_setter
from millstream.spark.python.failures import WrongValue, short
from millstream.spark.python.fits import fits
from millstream.spark.python.group import Ask, Group, Item
from millstream.spark.python.rows import row_class

STATE = "MS-PROCESS-103"


class Clock:
    """How far time has come for the call that is made: expiry is counted from it."""

    __slots__ = ("earliest", "time", "watermark")

    def __init__(self) -> None:
        self.time = 0
        self.watermark = 0
        self.earliest: int | None = None

    def expires(self, ttl_ms: int) -> int:
        """Of something that is written now; the group is cleaned after the first of these."""
        at = self.time + ttl_ms
        clean = cleaned(at, ttl_ms)
        if self.earliest is None or clean < self.earliest:
            self.earliest = clean
        return at

    def sees(self, item: Item | None) -> bool:
        return item is not None and (item[1] is None or max(self.time, self.watermark) < item[1])


def cleaned(at: int, ttl_ms: int) -> int:
    """When something that expires is forgotten: with all that expires soon after, which is looked through but once."""
    grain = max(1, ttl_ms // 16)
    return -(-at // grain) * grain


class Var:
    """What all kinds of variables have in common."""

    def __init__(self, name: str, at: int, bit: int, type_: DataType, ttl_ms: int | None, clock: Clock) -> None:
        self.name = name
        self.at = at
        self.bit = 1 << bit
        self.type = type_
        self.check = fits(type_)
        self.form = canon(type_)
        self.row = row_class(tuple(type_.names)) if isinstance(type_, StructType) else None
        self.kept = kept_check(type_, self.row, self.looked_at)
        """A value in the form in which it would come back; refused if it does not fit."""
        self.ttl_ms = ttl_ms
        self.clock = clock
        self.group: Group | None = None

    def looked_at(self, value: Any) -> Any:
        """The same for a value that is not right at first sight."""
        if value is None or not self.check(value):
            what = self.type.simpleString().upper()
            raise WrongValue(STATE, f"state {self.name} cannot hold {short(value)}: it is of type {what}")
        return value if self.form is None else self.form(value)

    def item(self, value: Any) -> Item:
        return self.kept(value), None if self.ttl_ms is None else self.clock.expires(self.ttl_ms)

    def next_clean(self, left: Iterable[Item]) -> int | None:
        ends = [item[1] for item in left if item[1] is not None]
        return cleaned(min(ends), self.ttl_ms or 1) if ends else None

    def fill(self, group: Group) -> None:
        if not group.filled & self.bit:
            group.filled |= self.bit
            group.written = True

    def empty(self, group: Group) -> None:
        if group.filled & self.bit:
            group.filled &= ~self.bit
            group.written = True


class ValueStore(Var):
    def value(self, default: Any = None) -> Any:
        """As `ValueState.get`, in whose place it stands while a process runs: it is called for most rows."""
        item = self.group.values[self.at]  # type: ignore[union-attr]
        return item[0] if item is not None and (item[1] is None or self.clock.sees(item)) else default

    def setter(self) -> Callable[[Any], None]:
        """As `ValueState.set`, likewise."""
        return self.set if self.ttl_ms is not None else value_setter(self.type, self.row, self.set, self)

    def set(self, value: Any) -> None:
        self.put(None, value)

    def get(self, key: Any) -> Any:
        item = self.group.values[self.at]  # type: ignore[union-attr]
        return item[0] if item is not None and (item[1] is None or self.clock.sees(item)) else None

    def put(self, key: Any, value: Any) -> None:
        group: Group = self.group  # type: ignore[assignment]
        group.values[self.at] = (self.kept(value), None) if self.ttl_ms is None else self.item(value)
        group.written = True

    def remove(self, key: Any) -> None:
        self.clear()

    def items(self) -> list[tuple[Any, Any]]:
        found = self.get(None)
        return [] if found is None else [(None, found)]

    def clear(self) -> None:
        group = self.group
        assert group is not None
        if group.values[self.at] is not None:
            group.values[self.at] = None
            group.written = True

    def purge(self, now: int) -> int | None:
        """Forgets it if it has expired; else when it will be."""
        group = self.group
        assert group is not None
        item = group.values[self.at]
        if item is None or item[1] is None:
            return None
        if item[1] <= now:
            self.clear()
            return None
        return self.next_clean([item])


class ListStore(Var):
    def __init__(self, *of: Any, ask: Ask) -> None:
        super().__init__(*of)
        self.ask = ask

    def loaded(self) -> list[Item]:
        group = self.group
        assert group is not None
        found = group.lists[self.at]
        if found is None:
            found = [(item[0], item[1]) for item in self.ask("L", group.index, self.at, None)]
            found += (group.new_items or {}).get(self.at, [])
            group.lists[self.at] = found
        return found

    def get(self, key: Any) -> Any:
        raise TypeError("a list has no keys")

    def put(self, key: Any, value: Any) -> None:
        group = self.group
        assert group is not None
        item = self.item(value)
        if group.new_items is None:
            group.new_items = {}
        new, known = group.new_items.setdefault(self.at, []), group.lists[self.at]
        for part in (new,) if known is None else (new, known):
            group.note(part, len(part))
            part.append(item)
        self.fill(group)

    def remove(self, key: Any) -> None:
        raise TypeError("a list has no keys")

    def items(self) -> list[tuple[Any, Any]]:
        return [(None, item[0]) for item in self.loaded() if self.clock.sees(item)]

    def clear(self) -> None:
        group = self.group
        assert group is not None
        group.lists[self.at] = []
        group.new_items = {**(group.new_items or {}), self.at: []}
        group.cleared |= {f"l{self.at}"}
        self.empty(group)

    def purge(self, now: int) -> int | None:
        items = self.loaded()
        left = [item for item in items if item[1] is None or item[1] > now]
        if len(left) < len(items):
            group = self.group
            assert group is not None
            self.clear()
            if left:
                group.lists[self.at] = left
                group.new_items = {**(group.new_items or {}), self.at: list(left)}
                self.fill(group)
        return self.next_clean(left)


class MapStore(Var):
    def __init__(self, *of: Any, key: DataType, ask: Ask) -> None:
        super().__init__(*of)
        self.key_type = key
        self.check_key = fits(key)
        self.key_form = canon(key)
        self.ask = ask

    def checked(self, key: Any) -> Any:
        if key is None or not self.check_key(key):
            what = self.key_type.simpleString().upper()
            raise WrongValue(STATE, f"state {self.name} has no key {short(key)}: its keys are {what}")
        return key if self.key_form is None else self.key_form(key)

    def found(self, key: Any) -> Item | None:
        group = self.group
        assert group is not None
        whole = group.maps[self.at]
        if whole is not None:
            return whole.get(key)
        known = self.asked(group)
        if key not in known:
            entries = self.ask("G", group.index, self.at, key)
            known[key] = (entries[0][1], entries[0][2]) if entries else None
        return known[key]

    def asked(self, group: Group) -> dict[Any, Item | None]:
        if group.asked is None:
            group.asked = {}
        return group.asked.setdefault(self.at, {})

    def get(self, key: Any) -> Any:
        item = self.found(self.checked(key))
        return item[0] if item is not None and self.clock.sees(item) else None

    def put(self, key: Any, value: Any) -> None:
        group = self.group
        assert group is not None
        self.keep(group, self.checked(key), self.item(value))
        self.fill(group)

    def keep(self, group: Group, key: Any, item: Item | None) -> None:
        if group.puts is None or group.removed is None:
            group.puts, group.removed = {}, {}
        puts, removed = group.puts.setdefault(self.at, {}), group.removed.setdefault(self.at, set())
        whole = group.maps[self.at]
        known: dict[Any, Any] = whole if whole is not None else self.asked(group)
        for part in (puts, removed, known):
            group.note(part, key)
        if item is not None:
            known[key] = puts[key] = item
            removed.discard(key)
            return
        puts.pop(key, None)
        removed.add(key)
        if whole is not None:
            whole.pop(key, None)
        else:
            known[key] = None

    def remove(self, key: Any) -> None:
        group = self.group
        assert group is not None
        key = self.checked(key)
        whole = group.maps[self.at]
        if whole is None or key in whole:
            self.keep(group, key, None)
        if not group.maps[self.at] and group.maps[self.at] is not None:
            self.empty(group)

    def loaded(self) -> dict[Any, Item]:
        group = self.group
        assert group is not None
        whole = group.maps[self.at]
        if whole is None:
            whole = {entry[0]: (entry[1], entry[2]) for entry in self.ask("M", group.index, self.at, None)}
            for key in (group.removed or {}).get(self.at, ()):
                whole.pop(key, None)
            whole |= (group.puts or {}).get(self.at, {})
            group.maps[self.at] = whole
        return whole

    def items(self) -> list[tuple[Any, Any]]:
        return [(key, item[0]) for key, item in self.loaded().items() if self.clock.sees(item)]

    def clear(self) -> None:
        group = self.group
        assert group is not None
        group.maps[self.at] = {}
        group.puts = {**(group.puts or {}), self.at: {}}
        group.removed = {**(group.removed or {}), self.at: set()}
        group.cleared |= {f"m{self.at}"}
        self.empty(group)

    def purge(self, now: int) -> int | None:
        whole = self.loaded()
        for key in [key for key, item in whole.items() if item[1] is not None and item[1] <= now]:
            self.remove(key)
        return self.next_clean(whole.values())
