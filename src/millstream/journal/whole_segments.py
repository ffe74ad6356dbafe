"""The writer of one partition where files are written whole, on HDFS and S3: each flush is its own segment.

There are no locks. The name of a segment is the offset of its first record, and is taken once: of two writers, the
second finds the name taken, and is refused.
"""

from __future__ import annotations

import secrets

from millstream.errors import MillstreamError
from millstream.journal import format as fmt
from millstream.journal.segments import Partition, chain, end_of


class WholeSegments:
    def __init__(self, where: Partition, segment_bytes: int) -> None:
        self._where = where
        self._segment_bytes = segment_bytes
        self._next = self._begin = end_of(where, chain(where))
        self._buffer = bytearray()
        self._attempt: tuple[bytes, int] | None = None
        """A segment that is not written yet, or may or may not be; and the offset after it."""

    def append(self, frame: bytes) -> int:
        """Takes a frame into the buffer and returns its offset. If this raises, the frame was not taken."""
        if self._buffer and len(self._buffer) + len(frame) > self._segment_bytes:
            self.flush()
        self._buffer += frame
        offset = self._next
        self._next = offset + 1
        return offset

    def flush(self) -> None:
        """If this fails it may be tried again. What it tried to write stays as it was: it may have been written."""
        if self._attempt is not None:
            self._write(*self._attempt)
        if self._buffer:
            # An answer may be lost: by the mark the writer knows what it wrote itself.
            header = fmt.encode_header(mark=secrets.token_bytes(4))
            self._attempt = (header + bytes(self._buffer), self._next)
            self._buffer.clear()
            self._write(*self._attempt)

    def _write(self, segment: bytes, end: int) -> None:
        name = fmt.produced(self._begin).name
        if not self._where.files.create(f"{self._where.folder}/{name}", segment):
            raise MillstreamError(
                "MS-JOURNAL-005",
                f"{self._where} has another writer.",
                found=f"{name}, which this one was about to write",
                hint="a partition has one writer at a time. What was not flushed is not written: send it again.",
            )
        self._begin, self._attempt = end, None

    def close(self) -> None:
        """What was not written is dropped."""
        self._buffer.clear()
        self._attempt = None
