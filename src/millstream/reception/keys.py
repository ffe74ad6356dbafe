"""The keys of a received table that have a row: by what was cut off its journal, and by what is still there.

cut off ─▶ <checkpoint>/received/<topic>.keys ─┐
                 the journal of the topic ─────┴─▶ keys that are live

A key is kept before its record is deleted. After a crash between the two it is in both, which says the same: what
follows in the journal counts. The keys are compacted, so that they grow with the table and not with its changes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from itertools import chain
from zlib import crc32

from millstream.journal.compaction import KEYS, compact_partition
from millstream.journal.format import Segment
from millstream.journal.producer import producer
from millstream.journal.reader import read
from millstream.journal.segments import Partition
from millstream.journal.topics import create, describe, exists, open_topic
from millstream.reception import retention
from millstream.storage import files_at
from millstream.storage.checkpoint import KEPT_KEYS, kept_keys

TOMBSTONES = "1 second"
"""Nobody reads these keys but this class, and it reads all of them: a deletion need not be kept."""
BYTES = 40
"""Of a key in the journal, at least."""


class LiveKeys:
    """One thread may cut while another reads."""

    def __init__(self, folder: str, topic: str) -> None:
        self._folder = folder
        self._topic = topic
        self._kept = kept_keys(folder, topic)
        self._lock = threading.Lock()

    def cut_off(self, segments: Sequence[tuple[Partition, Segment]]) -> None:
        """Keeps the keys of these segments, durably, and deletes the segments."""
        with self._lock:
            self._keep(segments)
            retention.delete(segments)

    def _keep(self, segments: Sequence[tuple[Partition, Segment]]) -> None:
        if not exists(self._kept, KEPT_KEYS):
            create(self._kept, KEPT_KEYS, compact=True, tombstones=TOMBSTONES)
        topic = open_topic(self._kept, KEPT_KEYS)
        assert topic.keep.tombstones is not None
        with producer(self._kept, KEPT_KEYS, segment_bytes=retention.SEGMENT_BYTES) as out:
            for where, segment in segments:
                last = {record.key: record.value is not None for record in retention.records(where, segment)}
                for key, live in last.items():
                    if key is not None:
                        out.send(b"" if live else None, key=key)
            out.flush()
            compact_partition(topic.partition(0), topic.keep.tombstones)

    def live(self) -> Iterator[bytes]:
        """In slices that fit into memory. Whoever gets a key may delete its row in the journal at once."""
        slices = 1 + self._about() // KEYS
        for number in range(slices):
            with self._lock:
                found = self._slice(number, slices)
            yield from found

    def _about(self) -> int:
        """How many keys there are at most, or not many more."""
        kept = describe(self._kept, KEPT_KEYS).bytes // BYTES if exists(self._kept, KEPT_KEYS) else 0
        return kept + describe(self._folder, self._topic).records

    def _slice(self, number: int, slices: int) -> list[bytes]:
        kept = read(self._kept, KEPT_KEYS) if exists(self._kept, KEPT_KEYS) else ()
        found: dict[bytes, None] = {}
        for record in chain(kept, read(self._folder, self._topic)):
            if record.key is None or crc32(record.key) % slices != number:
                continue
            if record.value is None:
                found.pop(record.key, None)
            else:
                found[record.key] = None
        return list(found)

    def forget(self) -> None:
        files_at(self._kept).delete_all(self._kept)
