"""Reading a topic: `Reader.poll` for programs, `read` to iterate.

Per partition a cursor goes through the published log; for readers of uncommitted rows, the files in
`open/` are followed beside it. An idle poll costs a `stat` and a `pread` per partition.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Literal, TypeAlias, get_args

from millstream.errors import MillstreamError, did_you_mean
from millstream.journal.format import Segment
from millstream.journal.record import Record
from millstream.journal.segments import FolderWatch, Partition, SegmentFile, Tail, chain, corrupt, end_of
from millstream.journal.topics import JournalPath, Topic, open_topic
from millstream.journal.uncommitted import OpenFiles
from millstream.storage import files_at

Place: TypeAlias = Literal["earliest", "latest"]
Isolation: TypeAlias = Literal["read_committed", "read_uncommitted"]
Start: TypeAlias = Place | Mapping[int, int]
Stop: TypeAlias = threading.Event | Callable[[], bool]

_FIRST_WAIT = 0.001
_LONGEST_WAIT = 0.010
_LOOK_AT_STOP = 0.05


def read(
    path: JournalPath,
    topic: str,
    *,
    partitions: Iterable[int] | None = None,
    start: Start = "earliest",
    isolation: Isolation = "read_committed",
    follow: bool = False,
    stop: Stop | None = None,
) -> Iterator[Record]:
    """The records that are there now, or with `follow` also those to come, until `stop`."""
    reader = Reader(path, topic, partitions=partitions, start=start, isolation=isolation, bounded=not follow)
    return _iterate(reader, follow, stop.is_set if isinstance(stop, threading.Event) else stop)


def _iterate(reader: Reader, follow: bool, stopped: Callable[[], bool] | None) -> Iterator[Record]:
    with reader:
        while not (stopped and stopped()):
            records = reader.poll(_LOOK_AT_STOP if follow else 0)
            if not records and not follow:
                return
            if stopped is None:
                yield from records
                continue
            for record in records:
                yield record
                if stopped():
                    return


class Reader:
    """Reads a topic forward. Records of a partition come in order; partitions take turns."""

    def __init__(
        self,
        path: JournalPath,
        topic: str,
        *,
        partitions: Iterable[int] | None = None,
        start: Start = "earliest",
        isolation: Isolation = "read_committed",
        bounded: bool = False,
    ) -> None:
        """`start` may give offsets by partition; others begin at the earliest. `bounded`: as it is now."""
        found = open_topic(path, topic)
        _check("isolation", isolation, get_args(Isolation))
        if isolation == "read_uncommitted":
            _refuse_uncommitted(found)
        starts = _starts(found, start)
        numbers = range(found.partitions) if partitions is None else sorted(set(partitions))
        places = [found.partition(number) for number in numbers]
        self._wait = _FIRST_WAIT
        self._cursors: list[_Cursor] = []
        try:
            for place in places:
                uncommitted = isolation == "read_uncommitted"
                self._cursors.append(_Cursor(place, starts[place.number], uncommitted, bounded))
        except BaseException:
            self.close()
            raise

    def poll(self, timeout: float = 0.0) -> list[Record]:
        """What is there to read, about a megabyte at a time. Waits up to `timeout` seconds for it."""
        until: float | None = None
        while True:
            out: list[Record] = []
            for cursor in self._cursors:
                cursor.read(out)
            if out:
                self._wait = _FIRST_WAIT
                return out
            now = time.monotonic()
            until = now + timeout if until is None else until
            if now >= until:
                return out
            time.sleep(min(self._wait, until - now))
            self._wait = min(self._wait * 1.5, _LONGEST_WAIT)

    def positions(self) -> dict[int, int]:
        """Per partition, the offset after the last record read: where another reader would `start`."""
        return {cursor.where.number: cursor.offset for cursor in self._cursors}

    def close(self) -> None:
        for cursor in self._cursors:
            cursor.close()
        self._cursors = []

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Cursor:
    """A reader's position in one partition."""

    def __init__(self, where: Partition, start: Place | int, uncommitted: bool, bounded: bool) -> None:
        self.where = where
        self.offset = 0
        self._bounded = bounded
        self._segment: Segment | None = None
        self._file: SegmentFile | None = None
        self._next: list[Segment] = []  # the segments after this one
        self._watch = FolderWatch(where.folder)
        self._open: OpenFiles | None = None
        if uncommitted:
            self._open = OpenFiles(where, bounded=bounded, from_end=start == "latest")
            self._open.refresh()
        self._watch.changed()
        try:
            self._begin_anywhere(start)
        except BaseException:
            self.close()
            raise

    def read(self, out: list[Record]) -> None:
        """Appends about a chunk of records to `out`, if there are any."""
        if not self._bounded:
            self._refresh()
        before = len(out)
        while len(out) == before:
            if self._file is None and not self._enter_next():
                break
            assert self._file is not None
            try:
                tail = self._file.read(out)
            except FileNotFoundError:
                self._find_again()
                continue
            self._note_offset()
            if self._open is not None:
                out[before:] = self._open.undelivered(out[before:])
            if tail is not Tail.MORE and not self._leave(tail):
                break
        if self._open is not None:
            self._open.read(out)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._open is not None:
            self._open.close()

    def _refresh(self) -> None:
        if self._open is not None:
            self._open.refresh()
        if self._watch.changed():
            self._list()

    def _list(self) -> None:
        """The segments after this one. It may be gone: then its records, and those of the next, are in a merged one."""
        segments, current = chain(self.where), self._segment
        if self._open is not None:
            self._open.find(segments)
        if current is None:
            self._next = segments[sum(s.base <= self.offset for s in segments[1:]) :]
        else:
            self._next = [s for s in segments if s.merged or s.order > current.order]

    def _begin_anywhere(self, start: Place | int) -> None:
        try:
            self._begin(start)
        except FileNotFoundError:  # merged with others since it was listed
            self._give_up_file()
            self._begin(start)

    def _begin(self, start: Place | int) -> None:
        """Finds the segment that holds the first record to read, and passes over those before it."""
        segments = chain(self.where)
        if self._open is not None:
            self._open.find(segments)
        first = segments[0].base if segments else 0
        self.offset, self._next = first, segments
        if start == "earliest":
            return
        holding = [s for s in segments if start == "latest" or s.base <= start]
        if holding:
            self.offset, self._next = holding[-1].base, segments[len(holding) - 1 :]
            self._enter_next()
            assert self._file is not None
            self._file.skip(None if start == "latest" else start - self.offset)
            self._note_offset()
        # It may be further on than it was asked to be, if what was there is gone by compaction.
        if start != "latest" and (self.offset < start or (not holding and self.offset != start)):
            raise _out_of_range(self.where, start, first, end_of(self.where, segments))

    def _enter_next(self) -> bool:
        """Moves to the segment with the next record to read, which need not be its first."""
        if not self._next:
            return False
        segment = self._next.pop(0)
        try:
            self._enter(segment)
        except FileNotFoundError:
            self._give_up_file()
            self._list_without(segment)
            return self._enter_next()
        return True

    def _enter(self, segment: Segment) -> None:
        file = SegmentFile.of(self.where, segment, bounded=self._bounded and not self._next)
        self._segment, self._file = segment, file
        if not self._goes_on(segment):
            why = f"the records {self.offset} to {segment.base - 1} are missing"
            raise corrupt(self.where, segment.name, self.offset, 0, why)
        file.skip(self.offset - segment.base)
        if self._open is not None:
            file.skip(self._open.delivered(segment))
        self._note_offset()

    def _goes_on(self, segment: Segment) -> bool:
        return segment.base == self.offset or (segment.merged and segment.base < self.offset)

    def _find_again(self) -> None:
        """In an object store, a segment may be gone in the middle of reading it: it was merged with others."""
        lost = self._segment
        assert lost is not None
        self._note_offset()
        self._give_up_file()
        self._list_without(lost)

    def _give_up_file(self) -> None:
        if self._file is not None:
            self._file.close()
        self._segment, self._file = None, None

    def _list_without(self, lost: Segment) -> None:
        """It was merged with others since it was listed."""
        self._list()
        if lost in self._next:
            raise FileNotFoundError(f"{self.where.folder}/{lost.path}")

    def _note_offset(self) -> None:
        if self._file is not None and self._file.offset is not None:
            self.offset = self._file.offset

    def _leave(self, tail: Tail) -> bool:
        """At the segment's end: moves to the next, if there is one. False: nothing to read for now."""
        assert self._segment is not None
        assert self._file is not None
        last_of_producer = not self._segment.published and all(s.published for s in self._next)
        if tail is Tail.TORN and not last_of_producer:
            raise self._file.corrupt("the record fails its check (CRC-32), and the log goes on after it")
        self._next = [s for s in self._next if not (s.merged and s.end <= self.offset)]
        if not self._next:
            return False
        if not self._goes_on(self._next[0]):
            raise self._file.corrupt(f"the segment ends here, and the next begins at offset {self._next[0].base}")
        self._file.close()
        self._file = None
        return self._enter_next()


def _starts(topic: Topic, start: Start) -> Mapping[int, Place | int]:
    """Where to begin, by partition."""
    everywhere = range(topic.partitions)
    if not isinstance(start, str):
        for number in start:
            topic.partition(number)  # is it there?
        return {number: start.get(number, "earliest") for number in everywhere}
    _check("start", start, get_args(Place))
    return dict.fromkeys(everywhere, start)


def _check(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise MillstreamError(
            "MS-JOURNAL-011",
            f'{what} cannot be "{given}".',
            found=f"known: {', '.join(known)}",
            hint=did_you_mean(given, known),
        )


def _refuse_uncommitted(topic: Topic) -> None:
    if not files_at(topic.journal).grows:
        raise MillstreamError(
            "MS-JOURNAL-014",
            f'topic "{topic.name}" has no uncommitted records to read: it lies in an object store.',
            found=f"{topic.journal}, where nothing can be read before it is written whole",
            hint='leave out isolation="read_uncommitted", or keep the topic on HDFS or a local disk.',
        )


def _out_of_range(where: Partition, wanted: int, first: int, end: int) -> MillstreamError:
    return MillstreamError(
        "MS-JOURNAL-004",
        f"{where} cannot be read from offset {wanted}.",
        found=f"offsets {first} to {end}" if end > first else f"no records; the next gets offset {end}",
        hint="start at one of these, or at earliest or latest.",
    )
