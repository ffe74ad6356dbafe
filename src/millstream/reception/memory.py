"""What was received: the ids of the last messages, and how far logs were read. Kept with the checkpoint.

The journal has the id of every record: it alone says what was received. Before its beginning is cut off, what it says
up to there goes into a note: `<checkpoint>/received/<topic>.seen`, as FORMAT.md says.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from millstream.errors import MillstreamError
from millstream.journal.reader import read
from millstream.journal.record import Headers
from millstream.journal.topics import describe
from millstream.reception.message import PART
from millstream.storage import files_at

FORMAT = 1
DIGEST = 16
ID, PLACE = f"{PART}id", f"{PART}place"


def digest(id: str) -> bytes:
    return blake2b(id.encode(), digest_size=DIGEST).digest()


@dataclass
class Memory:
    """`most`: how many ids it holds; the oldest go first."""

    most: int
    places: dict[str, str] = field(default_factory=dict)
    next: dict[int, int] = field(default_factory=dict)
    """By partition of the journal, the offset of the next record."""
    _ids: set[bytes] = field(default_factory=set)
    _order: deque[bytes] = field(default_factory=deque)

    def knows(self, id: str) -> bool:
        return digest(id) in self._ids

    def add(self, id: str | None, place: tuple[str, str] | None) -> None:
        if id is not None:
            self.is_new(id)
        if place is not None:
            self.places[place[0]] = place[1]

    def is_new(self, id: str) -> bool:
        """Whether it did not know it; it does from now on."""
        one = digest(id)
        new = one not in self._ids
        if new:
            self._keep(one)
        return new

    def forget(self, id: str) -> None:
        """The last one that was new, if the message could not be kept."""
        self._ids.discard(digest(id))
        self._order.pop()

    def _keep(self, one: bytes) -> None:
        self._ids.add(one)
        self._order.append(one)
        if len(self._order) > self.most:
            self._ids.discard(self._order.popleft())

    def __len__(self) -> int:
        return len(self._order)

    def save(self, folder: str, topic: str) -> None:
        content = {
            "format": FORMAT,
            "next": {str(partition): offset for partition, offset in self.next.items()},
            "places": self.places,
            "ids": b64encode(b"".join(self._order)).decode(),
        }
        files_at(folder).replace(note(folder, topic), json.dumps(content))

    @classmethod
    def load(cls, folder: str, topic: str, most: int) -> Memory:
        """From the note, and from what the journal has got since then."""
        memory = cls(most)
        text = files_at(folder).read(note(folder, topic))
        if text is not None:
            memory._restore(json.loads(text), topic)
        for part in describe(folder, topic).partitions:
            memory.next[part.partition] = max(part.start, memory.next.get(part.partition, 0))
        for record in read(folder, topic, start=dict(memory.next)):
            assert record.offset is not None
            memory.add(*told(record.headers))
            memory.next[record.partition] = record.offset + 1
        return memory

    def _restore(self, saved: Mapping[str, object], topic: str) -> None:
        if saved.get("format") != FORMAT:
            raise MillstreamError(
                "MS-CHECKPOINT-004",
                f'the memory of what was received in "{topic}" has format {saved.get("format", 0)}, not {FORMAT}.',
                hint="use the version of Millstream that wrote it, or start with another checkpoint folder",
            )
        places, ends, ids = saved["places"], saved["next"], saved["ids"]
        assert isinstance(places, dict)
        assert isinstance(ends, dict)
        self.places = dict(places)
        self.next = {int(partition): offset for partition, offset in ends.items()}
        kept = b64decode(str(ids))
        for at in range(0, len(kept), DIGEST):
            self._keep(kept[at : at + DIGEST])


def told(headers: Headers) -> tuple[str | None, tuple[str, str] | None]:
    """The id and the place of a record, if it has them."""
    id: str | None = None
    place: tuple[str, str] | None = None
    for name, value in headers:
        if value is not None and name == ID:
            id = value.decode()
        elif value is not None and name == PLACE:
            log, _, position = value.decode().partition(" ")
            place = (log, position)
    return id, place


def note(folder: str, topic: str) -> str:
    return f"{folder}/{topic}.seen"
