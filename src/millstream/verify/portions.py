"""The input of a run in real time, which would otherwise read all of it in its first epoch, and never end.

It is copied into the run's own journal, the next portion whenever the last one is committed. After the last one the run
is stopped. The journal is in the run's folder: an image has as much of the input as the run had been given by then.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from millstream.connectors.message_source import MessageSource
from millstream.journal.producer import producer
from millstream.journal.reader import read
from millstream.journal.record import Record
from millstream.journal.topics import create, describe
from millstream.plan.nodes import Source
from millstream.testing.epochs import Ends, committed
from millstream.verify.broker import Broker

if TYPE_CHECKING:
    from millstream.runtime.run import Run

PORTIONS = 3
LOOK = 0.05
"""Seconds between two looks at what is committed."""
SETTLING = 2
"""Epochs after the last row until the watermark has passed it everywhere: it moves between epochs."""


class Growing:
    """A topic that holds the first portions of another one."""

    def __init__(self, whole: Path, journal: Path, topic: str) -> None:
        self._journal, self._topic = journal, topic
        partitions = len(describe(whole, topic).partitions)
        self._records: dict[int, list[Record]] = {number: [] for number in range(partitions)}
        for record in read(whole, topic):
            self._records[record.partition].append(record)
        if not (journal / topic).exists():
            create(journal, topic, partitions)

    @property
    def ends(self) -> Ends:
        return {part.partition: part.end for part in describe(self._journal, self._topic).partitions}

    def lacks(self, portion: int) -> bool:
        return any(self.ends[number] < end for number, end in self._until(portion).items())

    def give(self, portion: int) -> None:
        """Gives what is missing of a portion: the process that gave a part of it may have been killed."""
        ends = self.ends
        with producer(self._journal, self._topic, durable=False) as out:
            for number, end in self._until(portion).items():
                for one in self._records[number][ends[number] : end]:
                    headers, when = one.headers, one.timestamp
                    out.send(one.value, key=one.key, headers=headers, timestamp=when, partition=number)

    def is_read(self, committed: Ends) -> bool:
        """Whether all that was given is. `committed`: what a job has read."""
        return covers(committed, self.ends)

    def _until(self, portion: int) -> Ends:
        return {number: len(records) * portion // PORTIONS for number, records in self._records.items()}


class GrowingQueue(Growing):
    """One whose messages are received first: a job reads another topic."""

    def __init__(self, whole: Path, journal: Path, topic: str, received: MessageSource) -> None:
        super().__init__(whole, journal, topic)
        assert isinstance(received.stand_in, Broker)
        self._broker = received.stand_in
        self._received = received

    def is_read(self, committed: Ends) -> bool:
        if self._broker.taken() < sum(self.ends.values()):
            return False
        there = describe(str(self._received.folder), self._received.topic).partitions
        return covers(committed, {part.partition: part.end for part in there})


def growing(source: Source, whole: Path, journal: Path) -> Growing:
    if isinstance(source.options, MessageSource):
        return GrowingQueue(whole, journal, source.name, source.options)
    return Growing(whole, journal, source.name)


class Portions:
    def __init__(self, sources: tuple[Source, ...], whole: Path, journal: Path) -> None:
        self._topics = [growing(source, whole, journal) for source in sources]
        self._settling = SETTLING if any(source.time for source in sources) else 0

    def work_off(self, run: Run, checkpoint: str, portions: int = PORTIONS) -> None:
        """Runs until all of these are committed and time has moved on; the run publishes them when it stops."""
        while True:
            epochs = committed(checkpoint)
            if self._read(epochs) and not self._give(portions) and self._settled(epochs):
                break
            run.poll(LOOK)
        run.stop()

    def _read(self, epochs: dict[int, list[Ends]]) -> bool:
        """Whether all that was given is committed."""
        last = epochs[max(epochs)] if epochs else [Ends() for _ in self._topics]
        return all(topic.is_read(read) for topic, read in zip(self._topics, last, strict=True))

    def give(self, portions: int) -> None:
        """Gives this many portions of every topic."""
        while self._give(portions):
            pass

    def _give(self, portions: int) -> bool:
        """The next portion of every topic; false if there is none."""
        for portion in range(1, portions + 1):
            lacking = [topic for topic in self._topics if topic.lacks(portion)]
            for topic in lacking:
                topic.give(portion)
            if lacking:
                return True
        return False

    def _settled(self, epochs: dict[int, list[Ends]]) -> bool:
        last = epochs[max(epochs)] if epochs else []
        return sum(ends == last for ends in epochs.values()) > self._settling


def covers(read: Ends, given: Ends) -> bool:
    return all(read.get(number, 0) >= end for number, end in given.items())
