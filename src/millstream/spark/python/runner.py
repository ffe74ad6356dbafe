"""Runs a user's process over loads of rows of many keys, each key with its state."""

from __future__ import annotations

import copy
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa

from millstream.spark.python.calls import ENDLESS, Calls, Found
from millstream.spark.python.group import Ask, Group, listed
from millstream.spark.python.rows import EPOCH, decoder, encode, row_class, to_stream
from millstream.spark.python.shapes import arrow
from millstream.spark.python.spec import ProcessSpec
from millstream.spark.python.stores import Clock, ListStore, MapStore, ValueStore

ROWS, TIMER, CLOCK = 0, 1, 2
BEFORE_ALL = -(1 << 63)


class Runner:
    """One user's process, for as long as its code stays the same."""

    def __init__(self, spec: ProcessSpec, ask: Ask) -> None:
        self.spec = spec
        self.clock = Clock()
        self.calls = Calls(spec)
        self.vars = stores(spec, self.clock, ask)
        self.expiring = [var for var in self.vars if var.ttl_ms is not None]
        given = spec.shipped.load()
        self.process = given() if isinstance(given, type) else given
        self.process.around = self
        for var in self.vars:
            bound = copy.copy(getattr(self.process, var.name))
            bound._store = var
            setattr(self.process, var.name, bound)
        self.keys = row_class(spec.key)
        self.rows = row_class(spec.columns)
        self.output = pa.schema(list(arrow(spec.output)))
        self.changes = pa.schema(list(arrow(spec.changes)))
        self.group: Group | None = None
        self.now, self.now_ms = EPOCH, 0
        self.ringing: int | None = None
        self.safe = spec.on_error == "fail"

    @property
    def watermark(self) -> datetime | None:
        return None if self.clock.watermark <= 0 else instant(self.clock.watermark)

    def run(self, watermark: int, now: int, groups: pa.RecordBatch, rows: pa.RecordBatch) -> tuple[int, bytes, bytes]:
        """A load: what was skipped, the rows that came of it, the state that changed."""
        self.clock.watermark = watermark
        self.now, self.now_ms = instant(now), now
        given = self.decoded(rows)
        times = self.times(given, now)
        changed = []
        at = 0
        for kind, when, count, key, group in self.groups(groups):
            self.enter(group)
            if kind != ROWS:
                self.fire(group, key, when, kind)
            else:
                self.take(group, key, given[at : at + count], times[at : at + count])
                at += count
            self.schedule(group)
            if group.changed:
                changed.append(group)
        found, skipped = self.calls.end()
        return skipped, self.written(found), self.told(changed)

    def decoded(self, rows: pa.RecordBatch) -> list[Any]:
        parts = [decoder(part.type)(part) for part in rows.columns]
        return list(map(partial(tuple.__new__, self.rows), zip(*parts, strict=True)))

    def times(self, rows: list[Any], now: int) -> list[int]:
        """By which the expiry of state is counted: the rows' own, or the clock's."""
        if not self.expiring or self.spec.time is None:
            return [now] * len(rows)
        place = self.spec.time
        return [self.clock.watermark if row[place] is None else milliseconds(row[place]) for row in rows]

    def groups(self, groups: pa.RecordBatch) -> list[tuple[int, int, int, Any, Group]]:
        columns = [decoder(part.type)(part) for part in groups.columns]
        keys, kinds, ats, counts, kept = columns[:5]
        lists = len(self.spec.of_kind("list"))
        values = len(self.spec.of_kind("value"))
        alone = len(self.spec.key) == 1
        found = []
        for i, key in enumerate(keys):
            parts = [column[i] for column in columns[5:]]
            group = Group(i, kept[i], parts[:lists], parts[lists:], values)
            if alone:
                (named,) = key
            else:
                named = tuple.__new__(self.keys, key)
            found.append((kinds[i], ats[i], counts[i], named, group))
        return found

    def enter(self, group: Group) -> None:
        self.group = group
        self.ringing = None
        self.clock.earliest = None
        for var in self.vars:
            var.group = group

    def take(self, group: Group, key: Any, rows: list[Any], times: list[int]) -> None:
        call, make, clock = self.process.on_row, self.calls.make, self.clock
        if self.safe:
            for row, time in zip(rows, times, strict=True):
                clock.time = time
                make(call, key, row, row)
            return
        for row, time in zip(rows, times, strict=True):
            clock.time = time
            saved = group.begin()
            if make(call, key, row, row):
                group.end()
            else:
                group.restore(saved)

    def fire(self, group: Group, key: Any, at: int, kind: int) -> None:
        """A timer of the user's, or one of ours: to forget what has expired, by the time that state expires by."""
        self.clock.time = at
        if kind == TIMER and at in group.timers:
            self.ring(group, key, at)
        if kind == CLOCK and at in group.clocks:
            group.clocks -= {at}
            self.alarm(group, self.process.on_processing_timer, key, at)
        if at == group.clean and kind == (CLOCK if self.spec.time is None else TIMER):
            group.clean = None
            group.written = True
            ends = [var.purge(max(at, self.clock.watermark)) for var in self.expiring]
            later = [end for end in [*ends, self.clock.earliest] if end is not None]
            self.clock.earliest = min(later, default=None)

    def ring(self, group: Group, key: Any, at: int) -> None:
        """Rings, and so do the timers that it sets for times that are past already: in order, each at its own time."""
        due: int | None = at
        while due is not None:
            group.timers -= {due}
            group.new_timers -= {due}
            self.clock.time = self.ringing = due
            self.alarm(group, self.process.on_timer, key, due)
            due = min((time for time in group.timers if time <= self.clock.watermark), default=None)

    def alarm(self, group: Group, call: Any, key: Any, at: int) -> None:
        group.written = True
        saved = None if self.safe else group.begin()
        if self.calls.make(call, key, instant(at), None):
            group.end()
        elif saved is not None:
            group.restore(saved)

    def schedule(self, group: Group) -> None:
        """A time to forget what has expired, unless there is one."""
        if self.clock.earliest is None or group.clean is not None:
            return
        group.written = True
        if self.spec.time is None:
            group.clean = max(self.clock.earliest, self.now_ms + 1)
            group.new_clocks |= {group.clean} - group.clocks
        else:
            group.clean = max(self.clock.earliest, self.clock.watermark + 1)
            group.new_timers |= {group.clean} - group.timers

    def set_timer(self, at: datetime) -> None:
        group = self.group
        assert group is not None
        when = milliseconds(at)
        if when == self.ringing:
            raise ValueError(ENDLESS)
        if when not in group.timers:
            group.timers |= {when}
            group.written = True
            group.new_timers |= {when} - {None if self.spec.time is None else group.clean} - group.deleted_timers
            group.deleted_timers -= {when}

    def delete_timer(self, at: datetime) -> None:
        group = self.group
        assert group is not None
        when = milliseconds(at)
        if when in group.timers:
            group.timers -= {when}
            group.written = True
            group.deleted_timers |= {when} - {None if self.spec.time is None else group.clean} - group.new_timers
            group.new_timers -= {when} - {group.clean}

    def set_processing_timer(self, at: datetime) -> None:
        group = self.group
        assert group is not None
        when = max(milliseconds(at), self.now_ms + 1)
        if when not in group.clocks:
            group.clocks |= {when}
            group.written = True
            group.new_clocks |= {when} - {group.clean if self.spec.time is None else None} - group.deleted_clocks
            group.deleted_clocks -= {when}

    def delete_processing_timer(self, at: datetime) -> None:
        group = self.group
        assert group is not None
        when = milliseconds(at)
        if when in group.clocks:
            group.clocks -= {when}
            group.written = True
            group.deleted_clocks |= {when} - {group.clean if self.spec.time is None else None} - group.new_clocks
            group.new_clocks -= {when} - {group.clean}

    def written(self, found: Found) -> bytes:
        numbers = [number for number, _ in found]
        columns = [pa.array(numbers, pa.int32())]
        used = set(numbers)
        for i, shape in enumerate(self.calls.shapes):
            if i in used:
                columns.append(shape.column([row if number == i else None for number, row in found]))
            else:
                columns.append(pa.nulls(len(found), shape.arrow))
        return to_stream(columns, self.output)

    def told(self, groups: list[Group]) -> bytes:
        columns: dict[str, list[Any]] = {
            "group": [group.index for group in groups],
            "written": [group.written for group in groups],
            "values": [group.row() if group.written else None for group in groups],
            "timers": [listed(group.new_timers) for group in groups],
            "untimers": [listed(group.deleted_timers) for group in groups],
            "clocks": [listed(group.new_clocks) for group in groups],
            "unclocks": [listed(group.deleted_clocks) for group in groups],
        }
        for i in range(len(self.spec.of_kind("list"))):
            columns[f"l{i}"] = [list_change(group, i) for group in groups]
        for i in range(len(self.spec.of_kind("map"))):
            columns[f"m{i}"] = [map_change(group, i) for group in groups]
        return to_stream([encode(columns[part.name], part.type) for part in self.changes], self.changes)


def list_change(group: Group, i: int) -> tuple[Any, ...] | None:
    added = group.new_items or {}
    if i not in added and f"l{i}" not in group.cleared:
        return None
    return f"l{i}" in group.cleared, added.get(i, [])


def map_change(group: Group, i: int) -> tuple[Any, ...] | None:
    puts, removed = group.puts or {}, group.removed or {}
    if i not in puts:
        return None
    put = [(key, *item) for key, item in puts[i].items()]
    return f"m{i}" in group.cleared, put, [(key,) for key in removed[i]]


def stores(spec: ProcessSpec, clock: Clock, ask: Ask) -> list[ValueStore | ListStore | MapStore]:
    """In the order of their kinds, as their places are counted."""
    found: list[ValueStore | ListStore | MapStore] = []
    for i, var in enumerate(spec.of_kind("value")):
        found.append(ValueStore(var.name, i, 0, var.data_type, var.ttl_ms, clock))
    lists = spec.of_kind("list")
    for i, var in enumerate(lists):
        found.append(ListStore(var.name, i, i, var.data_type, var.ttl_ms, clock, ask=ask))
    for i, var in enumerate(spec.of_kind("map")):
        bit = len(lists) + i
        found.append(MapStore(var.name, i, bit, var.data_type, var.ttl_ms, clock, key=var.key_type, ask=ask))
    return found


def instant(at: int) -> datetime:
    return EPOCH + timedelta(milliseconds=max(at, 0))


def milliseconds(at: datetime) -> int:
    """Rounded up: a timer must not fire before its time."""
    if not isinstance(at, datetime):
        raise TypeError(f"a time must be a datetime, not {at!r}")
    aware = at if at.tzinfo is not None else at.replace(tzinfo=EPOCH.tzinfo)
    since = aware - EPOCH
    return since.days * 86_400_000 + since.seconds * 1000 - (-since.microseconds // 1000)
