"""Writing to a topic: buffered, durable after `flush()`, one writer per partition.

send ─▶ buffer of the partition ─write─▶ segment ─fsync─▶ durable
        (offset is known here)           (readers see it)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from datetime import datetime
from types import TracebackType
from zlib import crc32

from millstream.errors import MillstreamError
from millstream.journal import format as fmt
from millstream.journal.compaction import compact_partition
from millstream.journal.retention import trim_partition
from millstream.journal.topics import JournalPath, Keep, Topic, open_topic
from millstream.journal.values import Value, encode_headers, encode_value, milliseconds
from millstream.journal.whole_segments import WholeSegments
from millstream.journal.writer import PartitionWriter

SEGMENT_BYTES = 64 * 1024 * 1024
TRIM_EVERY = 10.0
"""Seconds between two looks for what the topic is not to keep, or to compact."""


def producer(path: JournalPath, topic: str, *, durable: bool = True, segment_bytes: int = SEGMENT_BYTES) -> Producer:
    """Opens a topic for writing. With `durable=False` the operating system decides when data reaches the disk.

    On HDFS and S3 each flush writes a segment, and nothing is visible or durable before.
    """
    return Producer(open_topic(path, topic), durable=durable, segment_bytes=segment_bytes)


class Producer:
    """Appends records to a topic. Use it in a `with` block, or close it. Threads may share it."""

    def __init__(self, topic: Topic, *, durable: bool, segment_bytes: int) -> None:
        self._topic = topic
        self._durable = durable
        self._segment_bytes = segment_bytes
        self._writers: dict[int, PartitionWriter | WholeSegments] = {}
        self._turn = 0
        self._mutex = threading.Lock()
        self._closed = False
        self._trimmed = time.monotonic()

    def send(
        self,
        value: Value,
        *,
        key: Value = None,
        headers: Iterable[tuple[str, bytes | str | None]] = (),
        timestamp: int | datetime | None = None,
        partition: int | None = None,
    ) -> tuple[int, int]:
        """Takes a record and returns its partition and offset. If this raises, the record was not taken."""
        if type(value) is not bytes:
            value = encode_value("value", value)
        if key is not None:
            key = encode_value("key", key)
        when = time.time_ns() // 1_000_000 if timestamp is None else milliseconds(timestamp)
        frame = fmt.encode(when, key, value, encode_headers(headers) if headers else ())
        with self._mutex:
            number = self._choose(key) if partition is None else partition
            writer = self._writers.get(number) or self._open(number)
            return number, writer.append(frame)

    def flush(self) -> None:
        """Writes all that was sent. When it returns, that is durable: no crash takes it back."""
        with self._mutex:
            for writer in self._writers.values():
                writer.flush()
            self._trim()

    def _trim(self) -> None:
        keep = self._topic.keep
        if keep == Keep() or time.monotonic() - self._trimmed < TRIM_EVERY:
            return
        self._trimmed = time.monotonic()
        for number in self._writers:
            if keep.limited:
                trim_partition(self._topic.partition(number), keep)
            if keep.tombstones is not None:
                compact_partition(self._topic.partition(number), keep.tombstones)

    def close(self) -> None:
        """Flushes, and lets other writers in."""
        with self._mutex:
            self._closed = True
            try:
                for writer in self._writers.values():
                    writer.flush()
            finally:
                while self._writers:
                    self._writers.popitem()[1].close()

    def __enter__(self) -> Producer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _choose(self, key: bytes | None) -> int:
        if key is not None:
            return crc32(key) % self._topic.partitions
        number = self._turn
        self._turn = (number + 1) % self._topic.partitions
        return number

    def _open(self, number: int) -> PartitionWriter | WholeSegments:
        if self._closed:
            raise MillstreamError(
                "MS-JOURNAL-012",
                f'the producer of topic "{self._topic.name}" is closed.',
                hint="send before close(), or open another producer.",
            )
        where = self._topic.partition(number)
        writer = (
            PartitionWriter(where, durable=self._durable, segment_bytes=self._segment_bytes)
            if where.files.local
            else WholeSegments(where, self._segment_bytes)
        )
        self._writers[number] = writer
        return writer
