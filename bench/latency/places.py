"""What is run: a case at a rate, with checkpoints at an interval, by an engine; and where its rows are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from millstream import journal
from millstream.journal.reader import Isolation

CASES = ("matches", "through", "journal")
PARTITIONS = 2
LAG = 200
"""How many likes lie between a like and the one that answers it."""
SCHEMA = "id BIGINT, liker STRING, liked STRING, sent BIGINT"


@dataclass(frozen=True)
class Case:
    name: str
    rate: int
    every: int
    """Seconds between two checkpoints."""

    @property
    def matches(self) -> bool:
        return self.name != "through"

    def expected(self, records: int) -> range:
        """The ids that come out of `records` records."""
        return range(max(0, records // 2 - LAG)) if self.matches else range(records)

    def record(self, number: int, due: int) -> str:
        """The even ones are likes, the odd ones answers; `due` is when the record is to be sent."""
        id_, liker, liked = number, "a", "b"
        if self.matches:
            id_ = number // 2
            if number % 2:
                # An answer before there was a like answers nothing.
                id_, liker, liked = id_ - LAG, "b", "a"
        return f'{{"id":{id_},"liker":"{liker}{id_}","liked":"{liked}{id_}","sent":{due}}}'

    def __str__(self) -> str:
        return f"{self.name}, {self.rate:,}/s, checkpoints every {self.every} s"


@dataclass(frozen=True)
class Place:
    """A topic of Kafka, or of a journal."""

    topic: str
    servers: str | None
    path: str

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> Self:
        return cls(**json.loads(text))

    def values(self, isolation: Isolation, seconds: float = 0.2) -> Iterator[bytes | None]:
        """Each as it comes; None when nothing came for a while."""
        return self._of_kafka(isolation, seconds) if self.servers else self._of_journal(isolation, seconds)

    def _of_kafka(self, isolation: str, seconds: float) -> Iterator[bytes | None]:
        settings = {"bootstrap.servers": self.servers, "group.id": isolation, "isolation.level": isolation}
        consumer = Consumer(settings)
        consumer.assign([TopicPartition(self.topic, part, OFFSET_BEGINNING) for part in range(PARTITIONS)])
        while True:
            message = consumer.poll(seconds)
            yield None if message is None or message.error() else message.value()

    def _of_journal(self, isolation: Isolation, seconds: float) -> Iterator[bytes | None]:
        with journal.Reader(self.path, self.topic, isolation=isolation) as reader:
            while True:
                records = reader.poll(seconds)
                for record in records:
                    yield record.value
                if not records:
                    yield None
