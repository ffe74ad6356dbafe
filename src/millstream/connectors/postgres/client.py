"""Fetches the changes of one table from its slot, and moves the slot on when the journal has them.

The slot is looked at: up to some 50,000 changes at once, read as they come, in whole transactions. When the last of
them is acknowledged, the slot advances.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from millstream.connectors.postgres import pgoutput, slot
from millstream.connectors.postgres.begun import Notes, Snapshot
from millstream.connectors.postgres.connect import connect_to_read, guarded, psycopg_module
from millstream.connectors.postgres.log import LOG, TableLog, place_from
from millstream.connectors.postgres.pgoutput import Commit
from millstream.connectors.postgres.slot import Slot
from millstream.connectors.postgres.table import Table
from millstream.journal.format import Segment
from millstream.journal.segments import Partition
from millstream.reception import Message
from millstream.reception.keys import LiveKeys

CHECKED_EVERY = 10
"""The publication and the slot are checked once in this many looks."""
SLACK = 1 << 20
"""Bytes of log without changes of the table that the slot may keep."""
LEFT_OPEN = 10.0
"""Seconds for which a look waits until more may be taken. Its transaction keeps the server from vacuuming."""


@dataclass
class Changes:
    """The changes of a table, as they come from its slot. `slot` and `snapshot`: as the reception has begun."""

    table: Table
    address: str
    notes: Notes
    keys: LiveKeys
    slot: Slot
    snapshot: Snapshot

    def connect(self, number: int, places: Mapping[str, str]) -> ChangesClient:
        return ChangesClient(self, places)

    def cut_off(self, segments: Sequence[tuple[Partition, Segment]]) -> None:
        """A TRUNCATE must know which keys had a row."""
        self.keys.cut_off(segments)


class Look:
    """What the slot has up to `target`. Changes are read as they come: a transaction need not fit into memory."""

    def __init__(self, target: int, data: Generator[bytes], log: TableLog) -> None:
        self.target = target
        self.end = 0
        """Of the last transaction."""
        self._count = 0
        """Of the messages of the log."""
        self._data = data
        self._messages = self._read(log)

    def _read(self, log: TableLog) -> Iterator[Message | None]:
        for data in self._data:
            self._count += 1
            message = pgoutput.read(data)
            if isinstance(message, Commit):
                self.end = message.end
            elif message is not None:
                yield from log.changes(message)

    def __iter__(self) -> Iterator[Message | None]:
        """What is left."""
        return self._messages

    @property
    def whole(self) -> bool:
        """Whether there was no more than one look takes."""
        return self._count < slot.AT_ONCE

    def reached(self, moved: int) -> int:
        """How far the slot may advance when all of it is durable; 0: not at all."""
        beyond = self._count > 0 or self.target > moved + SLACK
        return max(self.end, self.target) if self.whole and beyond else self.end

    def close(self) -> None:
        self._data.close()


class ChangesClient:
    quiet: ClassVar[float] = 0.0

    def __init__(self, changes: Changes, places: Mapping[str, str]) -> None:
        self._slot = changes.slot
        self._notes = changes.notes
        self._connection = connect_to_read(changes.address)
        self._log = TableLog(self._connection, changes.table, changes.snapshot, changes.keys.live)
        if LOG in places:
            self._log.done = place_from(places[LOG])
        self._look: Look | None = None
        self._last: int | None = None
        """Where to stop; None: nowhere."""
        self._looks = 0
        self._seen = 0
        """Up to there the slot has nothing any more, even if it has not advanced."""
        self._rested = 0.0
        """Seconds since the last fetch."""
        self._moved = self._target = self._place()

    def _place(self) -> int:
        try:
            with guarded():
                return self._slot.place(self._connection)
        except BaseException:
            self.close()
            raise

    def end_now(self) -> None:
        with guarded():
            self._last = self._slot.durable(self._connection)

    def fetch(self, most: int, seconds: float) -> Sequence[Message]:
        self._rested = 0.0
        found: Sequence[Message] = ()
        with guarded():
            while not found and self._begin_look():
                found = self._taken(most)
                if self._last is None:  # what comes meanwhile might have no end
                    break
        if not found:
            time.sleep(seconds)
        return found

    def _begin_look(self) -> bool:
        """Whether there may be something to fetch."""
        if self._look is not None:
            return True
        self._looks += 1
        if self._looks % CHECKED_EVERY == 0:
            self._slot.check(self._connection, self._notes.acknowledged)
        self._target = self._slot.durable(self._connection) if self._last is None else self._last
        if self._target <= max(self._moved, self._seen):
            return False
        self._look = Look(self._target, self._slot.peek(self._connection, self._target), self._log)
        return True

    def _taken(self, most: int) -> list[Message]:
        """The next messages of the look. The last one of it knows how far the slot may advance."""
        look = self._look
        assert look is not None
        found: list[Message] = []
        for message in look:
            if message is not None:
                found.append(message)
            if found and (message is None or len(found) == most):
                return found
        self._look = None
        self._seen = look.target if look.whole else look.end
        end = look.reached(self._moved)
        if found:
            found[-1].handle = end
        elif end > 0:
            self._advance(end)
        return found

    def acknowledge(self, messages: Sequence[Message]) -> None:
        if messages and messages[-1].handle:
            with guarded():
                self._advance(messages[-1].handle)

    def _advance(self, end: int) -> None:
        """When the journal has all changes up to there durably, and no other client has taken some of them."""
        self._slot.check(self._connection, self._notes.acknowledged)
        self._notes.acknowledge(end)
        self._slot.advance(self._connection, end)
        self._moved = end

    def rest(self, seconds: float) -> None:
        """After a long one, what is left of a look is looked at again."""
        self._rested += seconds
        if self._look is not None and self._rested > LEFT_OPEN:
            with guarded():
                self._look.close()
            self._look = None
        time.sleep(seconds)

    def waiting(self) -> None:
        """The log does not say how many changes of the table are in it."""

    def behind_bytes(self) -> int:
        if self._look is None and self._last is None:
            with guarded():
                self._target = self._slot.durable(self._connection)
        return max(0, self._target - max(self._moved, self._seen))

    def close(self) -> None:
        with suppress(psycopg_module().Error):
            if self._look is not None:
                self._look.close()
        self._connection.close()
