"""The writer of one partition on a disk of this machine: its lock, its buffer, its last segment."""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path
from typing import NoReturn

from millstream.errors import MillstreamError
from millstream.journal import format as fmt
from millstream.journal import lock
from millstream.journal.format import HEADER_BYTES, Segment
from millstream.journal.segments import Partition, SegmentFile, Tail, chain, end_of
from millstream.storage.local import sync_folder

log = logging.getLogger("millstream.journal")

BUFFER_BYTES = 256 * 1024
_FULL = (errno.ENOSPC, errno.EDQUOT)


class PartitionWriter:
    """Holds the partition's lock from its creation to `close()`."""

    def __init__(self, where: Partition, *, durable: bool, segment_bytes: int) -> None:
        self._where = where
        self._durable = durable
        self._segment_bytes = segment_bytes
        self._buffer = bytearray()
        self._room = 0  # what the buffer may grow to before `_make_room` must look
        self._fd = -1  # the segment that is written to; -1: the next write begins one
        self._size = 0  # its whole frames, header included
        self._synced = 0  # of these, what is known to be durable
        self._named = True  # its name is durable
        self._ragged = False  # there may be a piece of a frame after `_size`
        self._doubtful = False  # an fsync failed: the system may have dropped what it was given
        self._lock = lock.acquire(where)
        try:
            self._next = self._recover()  # the offset of the next record
        except BaseException:
            self.close()
            raise
        self._written = self._next  # the offset of the first record in the buffer

    def append(self, frame: bytes) -> int:
        """Takes a frame into the buffer and returns its offset. If this raises, the frame was not taken."""
        buffer = self._buffer
        if len(buffer) + len(frame) > self._room:
            self._make_room(len(frame))
        buffer += frame
        offset = self._next
        self._next = offset + 1
        return offset

    def flush(self) -> None:
        self._write()
        if self._durable and self._fd >= 0 and (self._synced < self._size or not self._named):
            self._sync()

    def close(self) -> None:
        """Releases file and lock; what is in the buffer is dropped."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._lock.release()

    # --- segments

    def _recover(self) -> int:
        """Cuts a torn tail, and finds where to continue."""
        segments = chain(self._where)
        own = [s for s in segments if not s.published]
        if own:
            size, records = self._repair(own[-1])
            if own[-1] is segments[-1]:
                self._fd = os.open(f"{self._where.folder}/{own[-1].name}", os.O_RDWR | os.O_CLOEXEC)
                self._size = size
                return own[-1].base + records
        # After a sink's segment a new one is begun: what was published is never written to again.
        return end_of(self._where, segments)

    def _repair(self, segment: Segment) -> tuple[int, int]:
        """Size and records of a segment after its torn tail, if it has one, was cut."""
        file = SegmentFile.of(self._where, segment)
        try:
            torn, size, records = file.skip() is Tail.TORN, file.at, file.count
            was = file.file.size()
        finally:
            file.close()
        if not torn:
            return size, records
        log.warning("%s: cut %d bytes of a torn record off %s", self._where, was - size, segment.name)
        fd = os.open(f"{self._where.folder}/{segment.name}", os.O_RDWR | os.O_CLOEXEC)
        try:
            os.ftruncate(fd, size)
            if size < HEADER_BYTES:
                size = _write_all(fd, fmt.encode_header(), 0)
            os.fsync(fd)
        finally:
            os.close(fd)
        return size, records

    def _make_room(self, frame: int) -> None:
        self._write()
        if self._fd >= 0 and self._size > HEADER_BYTES and self._size + frame > self._segment_bytes:
            self._seal()
        left = self._segment_bytes - (self._size if self._fd >= 0 else HEADER_BYTES)
        self._room = max(frame, min(BUFFER_BYTES, left))

    def _seal(self) -> None:
        """Synced even if not durable: a segment with another after it must be whole whatever happens."""
        self._sync()
        os.close(self._fd)
        self._fd = -1

    def _begin_segment(self) -> None:
        name = Path(self._where.folder, fmt.produced(self._written).name)
        new = name.with_suffix(".new")  # renamed when it has its header: readers never see it without
        fd = os.open(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            _write_all(fd, fmt.encode_header(), 0)
            os.rename(new, name)
        except BaseException:
            os.close(fd)
            new.unlink(missing_ok=True)
            raise
        self._fd, self._size, self._synced, self._named = fd, HEADER_BYTES, 0, False

    # --- bytes

    def _write(self) -> None:
        """Hands the buffer to the system: readers see it from here on."""
        if not self._buffer:
            return
        done = 0
        try:
            if self._fd < 0:
                self._begin_segment()
            if self._ragged:
                self._cut()
            data = bytes(self._buffer)
            while done < len(data):
                done += os.pwrite(self._fd, data[done:], self._size + done)
        except OSError as error:
            self._ragged = self._fd >= 0
            self._take(*fmt.whole_frames(self._buffer, done))
            self._fail(error)
        self._take(done, self._next - self._written)

    def _take(self, size: int, records: int) -> None:
        """This much of the buffer is written. It stays even if the rest failed: readers may have seen it."""
        self._size += size
        self._written += records
        self._room = 0  # the segment has grown: the next record must look whether it still fits
        del self._buffer[:size]

    def _cut(self) -> None:
        os.ftruncate(self._fd, self._size)
        self._ragged = False

    def _sync(self) -> None:
        try:
            if self._doubtful:
                self._write_again()
            os.fsync(self._fd)
            self._doubtful, self._synced = False, self._size
            if not self._named:
                sync_folder(Path(self._where.folder))
                self._named = True
        except OSError as error:
            self._doubtful = self._synced < self._size
            self._fail(error)

    def _write_again(self) -> None:
        """After a failed fsync the system may take its pages for clean: they must be written again."""
        start = max(self._synced, HEADER_BYTES)
        data = os.pread(self._fd, self._size - start, start)
        if fmt.walk(data).used != self._size - start:
            raise OSError(errno.EIO, f"{self._where}: records that were not yet durable are lost")
        _write_all(self._fd, data, start)

    def _fail(self, error: OSError) -> NoReturn:
        """Cuts a partly written frame at once, so that no reader waits for its end."""
        try:
            if self._ragged:
                self._cut()
        except OSError as second:
            log.warning("%s: a torn record could not be cut yet: %s", self._where, second)
        if error.errno not in _FULL:
            raise error
        raise MillstreamError(
            "MS-JOURNAL-009",
            f"the disk is full: {self._where} cannot be written.",
            found=f"{error.strerror}, in {self._where.folder}",
            hint="free some space and flush or send again: what was sent is kept, what was flushed is safe.",
        ) from error


def _write_all(fd: int, data: bytes, at: int) -> int:
    done = 0
    while done < len(data):
        done += os.pwrite(fd, data[done:], at + done)
    return done
