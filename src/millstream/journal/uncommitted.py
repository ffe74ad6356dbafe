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
    """

    def __init__(self, where: Partition, *, bounded: bool, from_end: bool) -> None:
        self._where = where
        self._bounded = bounded
        self._from_end = from_end
        self._watch = FolderWatch(f"{where.folder}/open")
        self._files: dict[str, SegmentFile] = {}  # by name in `open/`
        self._gone: list[_Delivered] = []

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

    def delivered(self, segment: fmt.Segment, file: SegmentFile) -> int:
        """How many records of this published segment were delivered from `open/`. They are forgotten here."""
        identity = file.file.identity
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
