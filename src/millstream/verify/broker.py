"""A broker that lies in a folder, in place of one that a job must not touch. The job's own front receives from it.

input, a topic ─fetch─▶ the front: append, sync ─▶ <checkpoint>/received
                              ╰─acknowledge─▶ <run>/broker/<source>

As a queue it delivers again what was not acknowledged when a run was killed. As a log it is read by position, which the
front keeps.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar

from millstream.connectors.message_source import Identity, MessageSource
from millstream.journal.reader import read
from millstream.journal.record import Headers, Record
from millstream.journal.topics import describe
from millstream.reception import PART, Message
from millstream.runtime import faults

AT_ONCE = 20
"""So many messages come together: a run acknowledges often, so that there is much to be killed at."""
LOOK = 0.02
LOG = "log"
"""The name of the one log."""


@dataclass(frozen=True)
class Broker:
    """`journal`, `source`: the topic of its messages. `kept`: its file. `log`: whether messages stay in it."""

    journal: str
    source: str
    kept: str
    log: bool
    identity: Identity
    parts: frozenset[str]

    @classmethod
    def of(cls, options: MessageSource, source: str, journal: Path, folder: Path) -> Broker:
        parts = frozenset(part for _, part in options.record)
        kept = str(folder / source)
        return cls(str(journal), source, kept, options.consumed is None, options.identity, parts)

    def connect(self, number: int, places: Mapping[str, str]) -> BrokerClient:
        return BrokerClient(self, int(places[LOG]) + 1 if LOG in places else 0)

    def end(self) -> int:
        return describe(self.journal, self.source).partitions[0].end

    def noted(self) -> set[int]:
        """Of a queue, the messages that were acknowledged; of a log, how many were, after each time."""
        file = Path(self.kept)
        whole = file.read_text().rpartition("\n")[0] if file.exists() else ""
        return {int(line) for line in whole.splitlines()}

    def note(self, numbers: Sequence[int]) -> None:
        file = Path(self.kept)
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as out:
            out.write("".join(f"{number}\n" for number in numbers))

    def taken(self) -> int:
        """How many messages were received for good."""
        noted = self.noted()
        return max(noted, default=0) if self.log else len(noted)

    def message(self, record: Record) -> Message:
        """With the id and the parts that were recorded, or else with its number."""
        assert record.offset is not None
        recorded = {name.removeprefix(PART): value for name, value in record.headers if name.startswith(PART)}
        headers = self._with_id(tuple(one for one in record.headers if not one[0].startswith(PART)), record.offset)
        given = recorded.pop("id", None)
        named = None if self.log else f"m{record.offset}"
        parts = {"message_id": named, "sequence_number": str(record.offset), "shard": LOG if self.log else None}
        made = {name: text.encode() for name, text in parts.items() if text is not None}
        said = {name: value for name, value in {**made, **recorded}.items() if name in self.parts and value is not None}
        return Message(
            record.value,
            id=given.decode() if given else self.identity.of(named, headers, record.value),
            key=record.key,
            headers=headers,
            parts=tuple(said.items()),
            timestamp=record.timestamp,
            handle=record.offset,
            place=(LOG, str(record.offset)) if self.log else None,
        )

    def _with_id(self, headers: Headers, number: int) -> Headers:
        name = self.identity.header
        missing = name is not None and not any(name == other for other, _ in headers)
        return (*headers, (name, str(number).encode())) if missing and name else headers


class BrokerClient:
    quiet: ClassVar[float] = 1.0

    def __init__(self, broker: Broker, begin: int) -> None:
        self._broker = broker
        self._next = begin
        self._noted = 0
        self._acknowledged = set() if broker.log else broker.noted()

    def fetch(self, most: int, seconds: float) -> Sequence[Message]:
        if self._broker.log and self._next != self._noted:
            # The front asks for more when it has what came before for good.
            self._broker.note([self._next])
            self._noted = self._next
        until = time.monotonic() + seconds
        while not (found := self._look(min(most, AT_ONCE))) and time.monotonic() < until:
            time.sleep(LOOK)
        return found

    def _look(self, most: int) -> list[Message]:
        records = read(self._broker.journal, self._broker.source, start={0: self._next})
        new = (record for record in records if record.offset not in self._acknowledged)
        found = [self._broker.message(record) for record in islice(new, most)]
        if found:
            self._next = found[-1].handle + 1
        return found

    def acknowledge(self, messages: Sequence[Message]) -> None:
        """Not all at once: a broker may be told of some, and then the process is killed."""
        if self._broker.log:
            return
        numbers = [message.handle for message in messages]
        half = len(numbers) // 2
        self._broker.note(numbers[:half])
        faults.at("receive.acknowledge.during", 0, self._broker.source)
        self._broker.note(numbers[half:])

    def rest(self, seconds: float) -> None:
        time.sleep(min(seconds, LOOK))

    def waiting(self) -> int | None:
        before = sum(number < self._next for number in self._acknowledged)
        return self._broker.end() - self._next - (len(self._acknowledged) - before)

    def close(self) -> None:
        """What was not acknowledged is delivered to whoever connects next."""
