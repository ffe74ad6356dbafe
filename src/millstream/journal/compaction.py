"""Compaction of topics that hold tables: of each key the newest record stays, under its offset.

a=1 │ b=1 a=2 │ c=1 b=2 │ …        closed segments, and the one that is written to
─── 0 ── 2: a=2 3: c=1 4: b=2 │ …  one in their place, with gaps where records are gone

The compacted segment is there whole before anything is deleted, and stands for what it holds from then on: a crash
leaves nothing to repair. What a job's sink has written, its own run compacts (`Compaction.java`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from millstream.errors import MillstreamError
from millstream.journal import format as fmt
from millstream.journal import lock
from millstream.journal.format import Segment
from millstream.journal.record import Record
from millstream.journal.retention import delete, segments, size_of
from millstream.journal.segments import Partition, SegmentFile, Tail, is_void
from millstream.journal.topics import JournalPath, open_topic

WRITER = "compacted"
LARGEST = 64 * 1024 * 1024
"""Bytes of neighbouring segments that become one."""
KEYS = 1_000_000
"""About so many different keys are known at a time. More segments have to wait for another look."""


def compact(path: JournalPath, topic: str) -> int:
    """Compacts now what producers wrote, rather than when it is worth it: not beside one who writes. Gives how many
    records are gone."""
    found = open_topic(path, topic)
    tombstones = found.keep.tombstones
    if tombstones is None:
        raise MillstreamError(
            "MS-JOURNAL-015",
            f'topic "{topic}" is not compacted: all its records count.',
            hint="a topic of a table is created with compact=True.",
        )
    partitions = [found.partition(number) for number in range(found.partitions)]
    return sum(_locked(where, tombstones) for where in partitions if not lock.is_held(where))


def _locked(where: Partition, tombstones: int) -> int:
    held = lock.acquire(where) if where.files.local else None
    try:
        return compact_partition(where, tombstones, now=True)
    finally:
        if held is not None:
            held.release()


def compact_partition(where: Partition, tombstones: int, *, now: bool = False) -> int:
    """By the one writer of the partition. `now`: even if little has been written since the last time."""
    everything = segments(where)
    log = [segment for segment in fmt.uncovered(everything) if not is_void(where, segment)]
    _delete_covered(where, everything)
    stretch = _stretch(where, log)
    if not stretch or not (now or _worth_it(stretch)):
        return 0
    generation = 1 + max(part.segment.generation for part in stretch)
    newest = _newest(where, stretch)
    oldest_kept = time.time_ns() // 1_000_000 - tombstones if stretch[0].segment is log[0] else None
    gone = 0
    for parts in _pieces([part for part in stretch if part.begin < newest.end]):
        content, dropped = _rewritten(where, parts, newest, oldest_kept)
        name = fmt.compacted_name(parts[0].begin, WRITER, parts[-1].end, generation)
        # In their order: no tombstone goes before what it deletes.
        if not where.files.create(f"{where.folder}/{name}", content):
            break
        gone += dropped
    _delete_covered(where, segments(where))
    return gone


@dataclass(frozen=True)
class _Part:
    """A segment, and which of its offsets count: the first ones may be in the one before it."""

    segment: Segment
    begin: int
    end: int
    size: int


@dataclass(frozen=True)
class _Newest:
    """The offset of each key's newest record before `end`, of keys that were written since the last compaction."""

    offsets: dict[bytes, int]
    end: int

    def has_newer(self, record: Record) -> bool:
        assert record.offset is not None
        return record.key is not None and self.offsets.get(record.key, -1) > record.offset


def _stretch(where: Partition, log: list[Segment]) -> list[_Part]:
    """The first neighbours that can be compacted and were not. The last segment of the log stays as it is, and what a
    sink has published: its run may look for it by its name."""

    def can(segment: Segment) -> bool:
        return segment is not log[-1] and (segment.merged or not segment.published)

    rest = log
    while rest:
        found = list(takewhile(can, rest))
        if any(not segment.compacted for segment in found):
            return _parts(where, found, log[log.index(found[-1]) + 1])
        rest = rest[len(found) + 1 :]
    return []


def _parts(where: Partition, found: list[Segment], following: Segment) -> list[_Part]:
    parts: list[_Part] = []
    begin = found[0].base
    for segment, after in zip(found, [*found[1:], following], strict=True):
        end = after.base if segment.records is None else segment.end
        parts.append(_Part(segment, begin, end, size_of(where, segment)))
        begin = end
    return parts


def _worth_it(stretch: list[_Part]) -> bool:
    """What is new is as much as what was compacted before: so a record is copied a few times only."""
    return sum(-part.size if part.segment.compacted else part.size for part in stretch) >= 0


def _newest(where: Partition, stretch: list[_Part]) -> _Newest:
    found: dict[bytes, int] = {}
    first = next(number for number, part in enumerate(stretch) if not part.segment.compacted)
    end = stretch[first].begin
    for part in stretch[first:]:
        if len(found) > KEYS:
            break
        for record in _records(where, part):
            if record.key is not None and record.offset is not None:
                found[record.key] = record.offset
        end = part.end
    return _Newest(found, end)


def _pieces(stretch: list[_Part]) -> Iterator[list[_Part]]:
    piece: list[_Part] = []
    for part in stretch:
        if piece and sum(other.size for other in piece) + part.size > LARGEST:
            yield piece
            piece = []
        piece.append(part)
    if piece:
        yield piece


def _rewritten(where: Partition, parts: list[_Part], newest: _Newest, oldest_kept: int | None) -> tuple[bytes, int]:
    """Without what is gone, and how many records that is. `oldest_kept`: older tombstones go; None: all stay."""
    out, gone, at = bytearray(_header(where, parts[0])), 0, parts[0].begin
    for part in parts:
        for record in _records(where, part):
            assert record.offset is not None
            deletes = record.key is not None and record.value is None
            if newest.has_newer(record) or (deletes and oldest_kept is not None and record.timestamp < oldest_kept):
                gone += 1
                continue
            out += _gap(at, record.offset)
            out += fmt.encode(record.timestamp, record.key, record.value, record.headers)
            at = record.offset + 1
    out += _gap(at, parts[-1].end)
    return bytes(out), gone


def _gap(at: int, until: int) -> bytes:
    return fmt.encode_gap(until - at) if until > at else b""


def _header(where: Partition, part: _Part) -> bytes:
    file = SegmentFile.of(where, part.segment)
    try:
        return fmt.encode_header(file.created(), magic=fmt.WITH_GAPS)
    finally:
        file.close()


def _records(where: Partition, part: _Part) -> Iterator[Record]:
    file = SegmentFile.of(where, part.segment, bounded=True)
    try:
        file.skip(part.begin - part.segment.base)
        tail = Tail.MORE
        while tail is Tail.MORE:
            out: list[Record] = []
            tail = file.read(out)
            yield from out
        if file.offset != part.end:
            raise file.corrupt(f"the segment ends here, and the next begins at offset {part.end}")
    finally:
        file.close()


def _delete_covered(where: Partition, everything: list[Segment]) -> None:
    """What a compacted segment holds. Readers that were about to read it find the other one."""
    stays = set(fmt.uncovered(everything))
    by = [segment for segment in stays if segment.compacted]
    for segment in everything:
        if segment not in stays and any(one.base <= segment.base < one.end for one in by):
            delete(where, segment)
