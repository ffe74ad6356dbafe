"""Runs a user's process over loads of rows of many keys, each key with its state."""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa

from millstream.spark.python.calls import ENDLESS, Calls, Found
from millstream.spark.python.garbage import no_garbage_collection
from millstream.spark.python.group import Ask, Group, Item, all_listed
from millstream.spark.python.rows import EPOCH, decoder, encode, row_class, to_stream
from millstream.spark.python.shapes import arrow
from millstream.spark.python.spec import ProcessSpec
from millstream.spark.python.stores import Clock, ListStore, MapStore, ValueStore

ROWS, TIMER, CLOCK = 0, 1, 2
BEFORE_ALL = -(1 << 63)

Work = tuple[int, int, Any, Group, list[Any], list[int]]
"""Of a key: what is to be done, for which timer, the key, its state, its rows and their times."""
Steps = Generator[tuple[Callable[..., Any], Any, Any, Any], bool, None]
"""Calls to make, one after the other: the caller says whether each went well. See `Calls.make`."""


class Runner:
    """One user's process, for as long as its code stays the same."""

    def __init__(self, spec: ProcessSpec, ask: Ask, process: Any = None) -> None:
        """`process`: an object of the user's class of its own; else one is made."""
        self.spec = spec
        self.clock = Clock()
        self.calls = Calls(spec)
        self.vars = stores(spec, self.clock, ask)
        self.expiring = [var for var in self.vars if var.ttl_ms is not None]
        self.process = made(spec) if process is None else process
        self.process.around = self
        for var in self.vars:
            bound = copy.copy(getattr(self.process, var.name))
            bound._store = var
            if isinstance(var, ValueStore):
                bound.get, bound.set = var.value, var.setter()
            setattr(self.process, var.name, bound)
        self.keys = row_class(spec.key)
        self.rows = row_class(spec.columns)
        self.output = pa.schema(list(arrow(spec.output)))
        self.changes = pa.schema(list(arrow(spec.changes)))
        self.group: Group | None = None
        self.now, self.now_ms = EPOCH, 0
        self.ringing: int | None = None
        self.safe = spec.on_error == "fail"
        self.plain = self.safe and not self.expiring
        """Whether nothing is to be undone, and no row's time matters."""

    @property
    def watermark(self) -> datetime | None:
        return None if self.clock.watermark <= 0 else instant(self.clock.watermark)

    def run(self, watermark: int, now: int, groups: pa.RecordBatch, rows: pa.RecordBatch) -> tuple[int, bytes, bytes]:
        """A load: what was skipped, the rows that came of it, the state that changed."""
        with no_garbage_collection():
            return self.load(watermark, now, groups, rows)

    def load(self, watermark: int, now: int, groups: pa.RecordBatch, rows: pa.RecordBatch) -> tuple[int, bytes, bytes]:
        self.begin(watermark, now)
        changed = []
        for kind, at, key, group, own, times in self.works(groups, rows):
            self.enter(group)
            if kind != ROWS:
                self.make(self.fire(group, key, at, kind))
            else:
                self.take(group, key, own, times)
            self.schedule(group)
            if group.changed:
                changed.append(group)
        found, skipped = self.calls.end()
        return skipped, self.written(found), self.told(changed)

    def begin(self, watermark: int, now: int) -> None:
        self.clock.watermark = watermark
        self.now, self.now_ms = instant(now), now

    def works(self, groups: pa.RecordBatch, rows: pa.RecordBatch) -> Iterator[Work]:
        given = self.decoded(rows)
        times = [] if self.plain else self.times(given, self.now_ms)
        begin = 0
        for kind, at, count, key, group in self.groups(groups):
            end = begin + count
            yield kind, at, key, group, given[begin:end], times[begin:end]
            begin = end

    def make(self, steps: Steps) -> None:
        call = next(steps, None)
        while call is not None:
            call = sent(steps, self.calls.make(*call))

    def decoded(self, rows: pa.RecordBatch) -> list[Any]:
        parts = [decoder(part.type)(part) for part in rows.columns]
        return list(map(partial(tuple.__new__, self.rows), zip(*parts, strict=True)))

    def decoded_keys(self, keys: pa.StructArray) -> Iterable[Any]:
        parts = [decoder(part.type)(part) for part in keys.flatten()]
        return parts[0] if len(parts) == 1 else map(partial(tuple.__new__, self.keys), zip(*parts, strict=True))

    def times(self, rows: list[Any], now: int) -> list[int]:
        """By which the expiry of state is counted: the rows' own, or the clock's."""
        if not self.expiring or self.spec.time is None:
            return [now] * len(rows)
        place = self.spec.time
        return [self.clock.watermark if row[place] is None else milliseconds(row[place]) for row in rows]

    def groups(self, groups: pa.RecordBatch) -> list[tuple[int, int, int, Any, Group]]:
        key, *columns = groups.columns
        keys = self.decoded_keys(key)
        kinds, ats, counts = (decoder(part.type)(part) for part in columns[:3])
        made = map(Group, range(groups.num_rows), kept_rows(columns[3]))
        found = list(zip(kinds, ats, counts, keys, made, strict=True))
        if len(columns) > 4:
            lists = len(self.spec.of_kind("list"))
            others = [decoder(part.type)(part) for part in columns[4:]]
            for each, *items in zip(found, *others, strict=True):
                each[4].hold(items[:lists], items[lists:])
        return found

    def enter(self, group: Group) -> None:
        self.group = group
        self.ringing = None
        self.clock.earliest = None
        for var in self.vars:
            var.group = group

    def take(self, group: Group, key: Any, rows: list[Any], times: list[int]) -> None:
        call, make, clock = self.process.on_row, self.calls.make, self.clock
        if self.plain:
            clock.time = self.now_ms
            self.calls.each(self.calls.of_key, call, key, rows)
            return
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

    def fire(self, group: Group, key: Any, at: int, kind: int) -> Steps:
        """A timer of the user's, or one of ours: to forget what has expired, by the time that state expires by."""
        self.clock.time = at
        if kind == TIMER and at in group.timers:
            yield from self.ring(group, key, at)
        if kind == CLOCK and at in group.clocks:
            group.clocks -= {at}
            yield from self.alarm(group, self.process.on_processing_timer, key, at)
        if at == group.clean and kind == (CLOCK if self.spec.time is None else TIMER):
            group.clean = None
            group.written = True
            ends = [var.purge(max(at, self.clock.watermark)) for var in self.expiring]
            later = [end for end in [*ends, self.clock.earliest] if end is not None]
            self.clock.earliest = min(later, default=None)

    def ring(self, group: Group, key: Any, at: int) -> Steps:
        """Rings, and so do the timers that it sets for times that are past already: in order, each at its own time."""
        due: int | None = at
        while due is not None:
            group.timers -= {due}
            group.new_timers -= {due}
            self.clock.time = self.ringing = due
            yield from self.alarm(group, self.process.on_timer, key, due)
            due = min((time for time in group.timers if time <= self.clock.watermark), default=None)

    def alarm(self, group: Group, call: Callable[..., Any], key: Any, at: int) -> Steps:
        group.written = True
        yield from self.attempt(group, call, key, instant(at), None)

    def attempt(self, group: Group, call: Callable[..., Any], key: Any, what: Any, row: Any) -> Steps:
        """A call that fails leaves nothing behind."""
        saved = None if self.safe else group.begin()
        if (yield call, key, what, row):
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
        count = len(found.rows)
        if not found.others:
            main, *rest = self.calls.shapes
            columns = [pa.repeat(pa.scalar(0, pa.int32()), count), main.structs(found.rows)]
            return to_stream([*columns, *(pa.nulls(count, shape.arrow) for shape in rest)], self.output)
        numbers = [number for number, _ in found.numbered()]
        columns = [pa.array(numbers, pa.int32())]
        used = set(numbers)
        for i, shape in enumerate(self.calls.shapes):
            if i in used:
                columns.append(shape.column([row if number == i else None for number, row in found.numbered()]))
            else:
                columns.append(pa.nulls(count, shape.arrow))
        return to_stream(columns, self.output)

    def told(self, groups: list[Group]) -> bytes:
        columns: dict[str, list[Any]] = {
            "group": [group.index for group in groups],
            "written": [group.written for group in groups],
            "values": [group.row() if group.written else None for group in groups],
            "timers": all_listed([group.new_timers for group in groups]),
            "untimers": all_listed([group.deleted_timers for group in groups]),
            "clocks": all_listed([group.new_clocks for group in groups]),
            "unclocks": all_listed([group.deleted_clocks for group in groups]),
        }
        for i in range(len(self.spec.of_kind("list"))):
            columns[f"l{i}"] = [list_change(group, i) for group in groups]
        for i in range(len(self.spec.of_kind("map"))):
            columns[f"m{i}"] = [map_change(group, i) for group in groups]
        return to_stream([encode(columns[part.name], part.type) for part in self.changes], self.changes)


def made(spec: ProcessSpec) -> Any:
    """An object of the user's class, or the one that was given."""
    given = spec.shipped.load()
    return given() if isinstance(given, type) else given


def sent(steps: Steps, well: bool) -> tuple[Callable[..., Any], Any, Any, Any] | None:
    """The next call; None: that was the last."""
    try:
        return steps.send(well)
    except StopIteration:
        return None


def kept_rows(column: pa.StructArray) -> Iterable[tuple[Any, ...]]:
    """The rows of values, as plain tuples: what is filled, when to clean, timers, and each value with its expiry."""
    filled, clean, *times = (decoder(part.type)(part) for part in column.flatten()[:4])
    values = list(map(kept_items, column.flatten()[4:]))
    listed_values: Iterable[list[Any]] = map(list, zip(*values, strict=True)) if values else ([] for _ in filled)
    return zip(filled, clean, *times, listed_values, strict=True)


def kept_items(column: pa.StructArray) -> list[Item | None]:
    """What is kept of a value of each key, with its expiry."""
    items: list[Item | None] = list(zip(*(decoder(half.type)(half) for half in column.flatten()), strict=True))
    if column.null_count:
        items = [item if there else None for item, there in zip(items, column.is_valid().to_pylist(), strict=True)]
    return items


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
