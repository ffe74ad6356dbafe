"""Rows of epochs that are not published: the files in a partition's `open/`, followed as they grow."""

from __future__ import annotations

from dataclasses import dataclass, replace

from millstream.journal import format as fmt
from millstream.journal.record import Record
from millstream.journal.segments import FolderWatch, Partition, SegmentFile


@dataclass(frozen=True)
class _Delivered:
    """What was delivered of a file that has left `open/`: its reader meets it again when it is published."""

    token: str
    identity: object
    records: int


class OpenFiles:
    """Follows the files in `open/`, and knows how much of each was delivered.

    open/w-…-0.seg ──rename──▶ <base>-w-….seg      the same file: what was delivered from it is passed over

    It is looked for as soon as it is published. So it may be merged with others before the reader, which may have much
    to read until then, reaches its records.
    """

    def __init__(self, where: Partition, *, bounded: bool, from_end: bool) -> None:
        self._where = where
        self._bounded = bounded
        self._from_end = from_end
        self._watch = FolderWatch(f"{where.folder}/open")
        self._files: dict[str, SegmentFile] = {}  # by name in `open/`
        self._gone: list[_Delivered] = []
        self._ranges: dict[int, int] = {}  # of offsets that were delivered, first -> the one after the last

    def refresh(self) -> None:
        """To be called before the published segments are listed: what moves meanwhile is then not missed."""
        if not self._watch.changed():
            return
        names = self._list()
        for name in [n for n in self._files if n not in names]:
            self._leave(name)
        for name in sorted(names - self._files.keys()):
            self._follow(name)
        self._from_end = False

    def read(self, out: list[Record]) -> None:
        for file in self._files.values():
            file.read(out)

    def find(self, published: list[fmt.Segment]) -> None:
        """Notes the offsets of what was delivered, now that the partition is listed."""
        if not self._files and not self._gone:
            return
        tokens = {part.token for part in self._gone} | {fmt.token_of_open(name) for name in self._files}
        for segment in published:
            if segment.token in tokens and not segment.merged:
                count = self._taken(segment)
                if count:
                    self._ranges[segment.base] = segment.base + count

    def _taken(self, segment: fmt.Segment) -> int:
        """How many records of this published segment were delivered. It is not followed any more."""
        try:
            file = SegmentFile.of(self._where, segment)
        except FileNotFoundError:
            return 0
        identity = file.file.identity
        file.close()
        for name, own in self._files.items():
            if fmt.token_of_open(name) == segment.token and own.file.identity == identity:
                own.close()
                del self._files[name]
                return own.count
        for gone in self._gone:
            if gone.token == segment.token and gone.identity == identity:
                self._gone.remove(gone)
                return gone.records
        return 0

    def delivered(self, segment: fmt.Segment) -> int:
        """How many records of a segment that is about to be read were delivered, at its beginning."""
        return 0 if segment.merged else self._ranges.pop(segment.base, segment.base) - segment.base

    def undelivered(self, records: list[Record]) -> list[Record]:
        """Those of a merged segment that were not delivered."""
        if not self._ranges or not records:
            return records
        last = records[-1].offset
        assert last is not None
        for first in [first for first, end in self._ranges.items() if end <= records[0].offset]:  # type: ignore[operator]
            del self._ranges[first]
        within = [(first, end) for first, end in self._ranges.items() if first <= last]
        return [r for r in records if not any(first <= (r.offset or 0) < end for first, end in within)]

    def close(self) -> None:
        while self._files:
            self._files.popitem()[1].close()

    def _list(self) -> set[str]:
        return {name for name in self._where.files.names(f"{self._where.folder}/open") if fmt.token_of_open(name)}

    def _follow(self, name: str) -> None:
        place = replace(self._where, folder=f"{self._where.folder}/open")
        try:
            file = SegmentFile(place, name, None, bounded=self._bounded)
        except FileNotFoundError:
            return  # published or deleted since it was listed
        self._files[name] = file
        if self._from_end:
            file.skip()

    def _leave(self, name: str) -> None:
        """A file that left was published, or its epoch was taken back and it has no name any more."""
        file = self._files.pop(name)
        token = fmt.token_of_open(name)
        if token is not None and file.count and file.file.linked():
            self._gone.append(_Delivered(token, file.file.identity, file.count))
        file.close()
