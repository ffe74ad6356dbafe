"""Reads a stream by shard and sequence number. Nothing is acknowledged: the checkpoint keeps the positions.

Each shard allows five reads a second: it is asked five times a second at most, and later again if it says it is busy.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

from millstream.connectors.aws import Account, explained
from millstream.connectors.kinesis.carrier import TOKEN
from millstream.connectors.kinesis.errors import lost
from millstream.connectors.kinesis.shards import Shard, ready
from millstream.connectors.message_source import Identity
from millstream.reception import ConnectionLost, Message

LOG = logging.getLogger("millstream")
EVERY = 0.21
"""Seconds between two reads of a shard."""
BUSY = 1.0
"""Seconds to leave a busy shard alone."""
LISTED_EVERY = 10.0
"""Seconds between two looks for new shards; a shard that ends is a reason to look at once."""
LONGEST = 10.0
"""Seconds for which a call may look for records that must be there."""
AT_ONCE = 1000
START = "@start"
"""Among the places: since when a job reads that does not begin with the oldest record. Milliseconds since 1970."""

OnLoss = Literal["fail", "skip"]


@dataclass
class Stream:
    """`starting`: `earliest`, `latest` or milliseconds since 1970; `places`: sequence numbers by shard, if named."""

    account: Account
    name: str
    starting: str
    places: tuple[tuple[str, str], ...]
    on_loss: OnLoss
    identity: Identity
    parts: frozenset[str]
    fresh: bool = False
    """Whether a job that begins with the latest record has yet to look for the first time."""

    def begin(self) -> Mapping[str, str]:
        if self.starting == "earliest":
            return {}
        self.fresh = self.starting == "latest"
        return {START: str(round(time.time() * 1000)) if self.fresh else self.starting}

    def connect(self, number: int, places: Mapping[str, str]) -> StreamClient:
        return StreamClient(self, places)


@dataclass
class Position:
    """Where a shard is read. `place`: of the last record; `proven`: whether it was still there."""

    place: str | None
    proven: bool
    iterator: str | None = None
    due: float = 0.0
    at_tip: bool = False
    """Whether there was nothing behind what was read last."""
    behind_ms: int | None = None
    """As Kinesis said with the last answer."""


@dataclass
class Progress:
    """Of all shards."""

    shards: list[Shard] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    positions: dict[str, Position] = field(default_factory=dict)
    listed: float = 0.0


class StreamClient:
    quiet: ClassVar[float] = 0.0
    """It asks until it has come to the tip of every shard."""

    def __init__(self, stream: Stream, places: Mapping[str, str]) -> None:
        self._stream = stream
        self._places = dict(places)
        self._progress = Progress()
        with self._explained():
            self._client = stream.account.client("kinesis")
            self._list()

    def _explained(self) -> Any:
        return explained("Kinesis", self._stream.name)

    def _list(self) -> None:
        pages = self._client.get_paginator("list_shards").paginate(StreamName=self._stream.name)
        self._progress.shards = [Shard.read(given) for page in pages for given in page["Shards"]]
        self._progress.listed = time.monotonic()

    def fetch(self, most: int, seconds: float) -> Sequence[Message]:
        """Of each shard that may be read now, what it has; if none has anything, it waits: longer while some were not
        read to their tip, as the children of shards that have just ended."""
        begun = time.monotonic()
        found = self._look(most)
        while not found and time.monotonic() - begun < (LONGEST if self._behind() else seconds):
            time.sleep(EVERY / 4)
            found = self._look(most)
        return found

    def _behind(self) -> bool:
        """Whether a shard was not read to its end, or to its tip if it has no end."""
        progress = self._progress
        closed = {shard.id for shard in progress.shards if shard.closed}
        positions = {shard: progress.positions.get(shard) for shard in ready(progress.shards, progress.ended)}
        return progress.listed == 0.0 or any(
            shard in closed or position is None or not position.at_tip for shard, position in positions.items()
        )

    def _look(self, most: int) -> list[Message]:
        progress, now = self._progress, time.monotonic()
        if now - progress.listed > LISTED_EVERY:
            with self._explained():
                self._list()
        found: list[Message] = []
        for shard in ready(progress.shards, progress.ended):
            position = progress.positions.setdefault(shard, self._position(shard))
            if position.due <= now and len(found) + AT_ONCE <= most:
                found += self._read(shard, position)
        self._stream.fresh = False
        return found

    def _position(self, shard: str) -> Position:
        """The user's choice applies as long as nothing was received."""
        place = self._places.get(shard) or dict(self._stream.places).get(shard)
        return Position(place, proven=False)

    def _read(self, shard: str, position: Position) -> list[Message]:
        errors = self._client.exceptions
        try:
            with self._explained():
                answer = self._answer(shard, position)
        except ConnectionLost as error:
            if not isinstance(error.__cause__, errors.ProvisionedThroughputExceededException):
                raise
            position.due = time.monotonic() + BUSY
            return []
        if answer is None:
            return []
        position.due = time.monotonic() + EVERY
        position.iterator = answer.get("NextShardIterator")
        position.behind_ms = int(answer.get("MillisBehindLatest", 0))
        position.at_tip = not answer["Records"] and position.behind_ms == 0
        records = self._proven(shard, position, answer)
        if position.iterator is None:
            self._progress.ended.add(shard)
            self._progress.listed = 0.0
        return [self._message(shard, record) for record in records]

    def _answer(self, shard: str, position: Position) -> dict[str, Any] | None:
        """None: the iterator was too old, and a new one is made next time."""
        if position.iterator is None:
            position.iterator = self._iterator(shard, position)
        try:
            answer: dict[str, Any] = self._client.get_records(ShardIterator=position.iterator, Limit=AT_ONCE)
        except self._client.exceptions.ExpiredIteratorException:
            position.iterator = None
            return None
        return answer

    def _iterator(self, shard: str, position: Position) -> str:
        start = self._places.get(START)
        if position.place is not None:
            # The record itself comes once more: if it does not, something is missing behind it.
            position.proven = False
            kind: dict[str, Any] = {
                "ShardIteratorType": "AT_SEQUENCE_NUMBER",
                "StartingSequenceNumber": position.place,
            }
        elif self._stream.fresh:
            kind = {"ShardIteratorType": "LATEST"}
        elif start is not None:
            moment = datetime.fromtimestamp(int(start) / 1000, UTC)
            kind = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": moment}
        else:
            kind = {"ShardIteratorType": "TRIM_HORIZON"}
        try:
            answer = self._client.get_shard_iterator(StreamName=self._stream.name, ShardId=shard, **kind)
        except self._client.exceptions.InvalidArgumentException:
            # The shard does not know the number: it is one of another stream that had the same name.
            if position.place is None:
                raise
            self._missing(shard, position.place)
            position.place = None
            return self._iterator(shard, position)
        return str(answer["ShardIterator"])

    def _proven(self, shard: str, position: Position, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What is new. A job that continues after a record must find that record."""
        records: list[dict[str, Any]] = answer["Records"]
        if position.place is not None and not position.proven:
            if records and records[0]["SequenceNumber"] == position.place:
                position.proven, records = True, records[1:]
            elif records or position.iterator is None:
                self._missing(shard, position.place)
                position.proven = True
        if records:
            position.place, position.proven = records[-1]["SequenceNumber"], True
        return records

    def _missing(self, shard: str, place: str) -> None:
        error = lost(self._stream.name, shard, place)
        if self._stream.on_loss == "fail":
            raise error
        LOG.warning("%s %s", error.message, error.found)

    def acknowledge(self, messages: Sequence[Message]) -> None:
        """A log keeps its records."""

    def rest(self, seconds: float) -> None:
        time.sleep(seconds)

    def waiting(self) -> int | None:
        """Kinesis says how old waiting records are, not how many."""
        return None

    def behind_ms(self) -> int | None:
        progress = self._progress
        open_ = [position for shard, position in progress.positions.items() if shard not in progress.ended]
        return max((one.behind_ms for one in open_ if one.behind_ms is not None), default=None)

    def close(self) -> None:
        self._client.close()

    def _message(self, shard: str, record: Mapping[str, Any]) -> Message:
        key, sign, token = record["PartitionKey"].partition(TOKEN)
        value = record["Data"]
        return Message(
            value or None,
            id=self._stream.identity.of(token if sign else None, (), value),
            key=key.encode(),
            parts=self._parts(shard, key, record) if self._stream.parts else (),
            timestamp=round(record["ApproximateArrivalTimestamp"].timestamp() * 1000),
            place=(shard, record["SequenceNumber"]),
        )

    def _parts(self, shard: str, key: str, record: Mapping[str, Any]) -> tuple[tuple[str, bytes], ...]:
        found = {"shard": shard, "sequence_number": record["SequenceNumber"], "partition_key": key}
        return tuple((name, text.encode()) for name, text in found.items() if name in self._stream.parts)
