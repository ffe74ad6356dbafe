"""The segments of one partition: which there are, and reading one of them forward."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial

from millstream.errors import MillstreamError
from millstream.journal import format as fmt
from millstream.journal.format import Decoded, Segment, Why
from millstream.journal.record import Record
from millstream.storage import Files, files_at

CHUNK = 1024 * 1024
_SETTLED_NS = 20_000_000  # folders' times move in ticks of up to 10 ms
_LIST_ANYWAY_NS = 1_000_000_000  # in case the folder's clock is not ours


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition of a topic, and where it is."""

    topic: str
    number: int
    folder: str

    @property
    def files(self) -> Files:
        return files_at(self.folder)

    def __str__(self) -> str:
        return f'topic "{self.topic}", partition {self.number}'


def corrupt(where: Partition, name: str, offset: int | str, byte: int, why: str) -> MillstreamError:
    return MillstreamError(
        "MS-JOURNAL-003",
        f"{where} is corrupt at offset {offset}, byte {byte} of {name}.",
        found=why,
        hint="restore the file from a copy, or begin to read behind it.",
    )


def chain(where: Partition) -> list[Segment]:
    """The partition's segments, in the order of the log."""
    parsed = (fmt.parse_segment(entry.name, entry.size) for entry in where.files.entries(where.folder))
    segments = sorted((s for s in parsed if s is not None), key=lambda s: s.order)
    return [s for s in fmt.uncovered(segments) if not _is_void(where, s)]


def _is_void(where: Partition, segment: Segment) -> bool:
    """A published segment without a record: no part of the log, and its base is another's too."""
    if not segment.published:
        return False
    try:
        size = os.stat(f"{where.folder}/{segment.name}").st_size if segment.size is None else segment.size
    except FileNotFoundError:  # deleted meanwhile
        return True
    return size == fmt.HEADER_BYTES


class FolderWatch:
    """Says cheaply whether a folder must be listed again."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._files = files_at(folder)
        self._seen = -1
        self._settled = False
        self._again = 0

    def changed(self) -> bool:
        return self._has_changed() if self._files.local else self._is_due()

    def _is_due(self) -> bool:
        """Where to ask whether it has changed costs as much as to list it."""
        now = time.monotonic_ns()
        if now < self._again:
            return False
        self._again = now + int(self._files.list_every * 1e9)
        return True

    def _has_changed(self) -> bool:
        try:
            modified = os.stat(self._folder).st_mtime_ns
        except FileNotFoundError:
            return True
        now = time.time_ns()
        if modified == self._seen and self._settled and now < self._again:
            return False
        # A change in the same tick as the last one does not show: only an older time can be trusted.
        self._seen, self._settled, self._again = modified, now - modified > _SETTLED_NS, now + _LIST_ANYWAY_NS
        return True


class Tail(Enum):
    """How a step through a segment ended."""

    MORE = "there may be more to read"
    END = "at the end of the file, after a whole record"
    TORN = "before a torn frame"


class SegmentFile:
    """A segment, read forward. `at` is the byte after the last record read, `count` their number."""

    def __init__(
        self, where: Partition, path: str, base: int | None, *, size: int | None = None, bounded: bool = False
    ) -> None:
        """Without a base its records have no offsets yet. `size`: if it is known, and stays so. `bounded`: read only
        what is there now."""
        self.where = where
        self.name = path
        self.base = base
        self.at = 0
        self.count = 0
        self.file = where.files.open(f"{where.folder}/{path}", size)
        self._limit = self.file.size() if bounded else None

    @classmethod
    def of(cls, where: Partition, segment: Segment, *, bounded: bool = False) -> SegmentFile:
        return cls(where, segment.path, segment.base, size=segment.size, bounded=bounded)

    def close(self) -> None:
        self.file.close()

    @property
    def offset(self) -> int | None:
        """The offset of the record at `at`."""
        return None if self.base is None else self.base + self.count

    def created(self) -> int | None:
        """When it was begun, in milliseconds since 1970; None if that is not written yet."""
        return fmt.created_in(self.file.read(0, fmt.HEADER_BYTES))

    def read(self, out: list[Record]) -> Tail:
        """Appends about a chunk of records to `out`."""
        return self._step(lambda data: fmt.decode(data, self.where.number, self.offset, out))

    def skip(self, records: int | None = None) -> Tail:
        """Skips `records` records, or all. MORE says that they were there."""
        target = None if records is None else self.count + records
        while self.count != target:
            left = None if target is None else target - self.count
            tail = self._step(partial(fmt.walk, most=left))
            if self.count != target and tail is not Tail.MORE:
                return tail
        return Tail.MORE

    def corrupt(self, why: str) -> MillstreamError:
        offset = self.offset
        place = f"{self.count} of its epoch's file" if offset is None else offset
        return corrupt(self.where, self.name, place, self.at, why)

    def _step(self, act: Callable[[bytes], Decoded]) -> Tail:
        if self.at == 0 and not self._pass_header():
            return Tail.TORN
        data = self._bytes(CHUNK)
        decoded = self._advance(act(data))
        if decoded.why is Why.ENOUGH:
            return Tail.MORE
        full = len(data) == CHUNK
        if decoded.why is Why.RAN_OUT:
            if decoded.used == len(data):
                return Tail.MORE if full else Tail.END
            if full and decoded.used:
                return Tail.MORE
        return self._one_frame(act)

    def _one_frame(self, act: Callable[[bytes], Decoded]) -> Tail:
        """The frame at `at` is larger than a chunk, incomplete or bad."""
        for _ in range(2):  # a bad one is read twice: a producer may just have cut a torn tail and written again
            left = max(0, self._size() - self.at)
            length = fmt.frame_length(self._bytes(min(left, fmt.FRAME_BYTES)))
            frame = self._bytes(left if length is None else min(left, length))
            decoded = self._advance(act(frame))
            if decoded.records or decoded.why is Why.ENOUGH:
                return Tail.MORE
            if fmt.is_torn(frame, left):
                return Tail.TORN if left else Tail.END
        raise self.corrupt("the record fails its check (CRC-32)")

    def _advance(self, decoded: Decoded) -> Decoded:
        self.at += decoded.used
        self.count += decoded.records
        return decoded

    def _pass_header(self) -> bool:
        header = self._bytes(fmt.HEADER_BYTES)
        if len(header) < fmt.HEADER_BYTES:
            return False
        known = fmt.version_of(header)
        if known is None:
            raise self.corrupt(f"the file begins with {header[:4]!r}, not with {fmt.MAGIC!r}")
        if not known:
            raise MillstreamError(
                "MS-JOURNAL-006",
                f"{self.where} has a segment of a format that this version of Millstream does not know.",
                found=f"{self.name} begins with {header[:4]!r}; known: {fmt.MAGIC!r}",
                hint="read it with the version of Millstream that wrote it, or a newer one.",
            )
        self.at = fmt.HEADER_BYTES
        return True

    def _size(self) -> int:
        size = self.file.size()
        return size if self._limit is None else min(size, self._limit)

    def _bytes(self, most: int) -> bytes:
        if self._limit is not None:
            most = min(most, self._limit - self.at)
        return self.file.read(self.at, most) if most > 0 else b""


def end_of(where: Partition, segments: list[Segment]) -> int:
    """The offset after the partition's last record, given its whole chain."""
    if not segments:
        return 0
    last = segments[-1]
    if last.records is not None:
        return last.base + last.records
    file = SegmentFile.of(where, last)
    try:
        if file.skip() is Tail.TORN and last.published:
            raise file.corrupt("a published segment ends within a record")
        return last.base + file.count
    finally:
        file.close()
