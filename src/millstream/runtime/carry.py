"""Carries committed epochs to sinks that the kernels do not know: the second phase, in Python.

epoch ─▶ the outbox, a journal in the checkpoint ─commit─▶ published there ─▶ carried to the sink, with its token

Only whole epochs are carried, in order. The sink keeps the epoch's number with the rows, so that one that was carried
before a crash is not carried again. The sink's last answer is remembered here: a sink that later knows less has lost
rows.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain as chained

from millstream.errors import MillstreamError
from millstream.journal.format import Segment
from millstream.journal.record import Record
from millstream.journal.segments import SegmentFile, Tail, chain
from millstream.journal.topics import Topic, create, open_topic
from millstream.plan.connectors import CarriedSink, Carrier, RowShape
from millstream.plan.nodes import Sink
from millstream.runtime import faults
from millstream.storage import CheckpointFolder
from millstream.storage.checkpoint import outbox_topic

EVERY = 0.05
"""Seconds between two looks for committed epochs, where looking costs nothing."""


def carried(sinks: Iterable[Sink]) -> list[Sink]:
    return [sink for sink in sinks if isinstance(sink.options, CarriedSink)]


def make_outbox(sinks: Iterable[Sink], folder: CheckpointFolder) -> None:
    """Makes the topics in which rows wait. One partition: a key's records stay in their order."""
    there = folder.files.names(folder.outbox)
    for topic in (outbox_topic(sink.name) for sink in carried(sinks)):
        if topic not in there:
            create(folder.outbox, topic, 1)


@dataclass(frozen=True)
class Load:
    """A sink's route: the topic in which its rows wait, and the carrier."""

    sink: str
    topic: Topic
    folder: CheckpointFolder
    carrier: Carrier

    def carry(self, up_to: int) -> None:
        """Carries every published epoch up to this one to the sink, and then deletes it here."""
        epochs = {epoch: segments for epoch, segments in self.published().items() if epoch <= up_to}
        known = self.remembered
        last = self.arrived(up_to) if any(epoch > known for epoch in epochs) else known
        for epoch, segments in sorted(epochs.items()):
            if epoch > last:
                faults.at("carry.before", epoch, self.sink)
                self.carrier.carry(epoch, self.all_records(epoch, segments))
                faults.at("carry.after", epoch, self.sink)
            self.drop(segments)
            if epoch > known:
                said = self.carrier.last()
                self.remember(epoch if said is None else said)

    def arrived(self, published: int) -> int:
        """The last epoch that the sink has: an error if it once had a later one, or has one that is not published yet.
        If it cannot say, what is remembered here is used."""
        last = self.carrier.last()
        if last is None:
            return self.remembered
        if last < self.remembered:
            raise MillstreamError(
                "MS-SINK-007",
                f'sink "{self.sink}" had the rows of epoch {self.remembered}, and has lost them.',
                found="its last epoch: " + ("none" if last < 0 else str(last)),
                hint="bring back what it held, or start over with another checkpoint folder",
            )
        if last > published:
            raise MillstreamError(
                "MS-SINK-010",
                f'sink "{self.sink}" has epoch {last}, and the checkpoint ends with epoch {published}.',
                found="a copy of the checkpoint has gone on",
                hint="go on with the checkpoint that ran last: what this one would write, the sink takes for written",
            )
        return last

    @property
    def note(self) -> str:
        return self.folder.carried(self.topic.name)

    @property
    def remembered(self) -> int:
        """The last epoch of which the sink has said that it has it; -1: none."""
        text = self.folder.files.read(self.note)
        return -1 if text is None else number_in(text, self.note)

    def seen(self, published: int) -> int:
        """The last epoch whose rows the sink is known to have. An epoch without rows for it need not be carried."""
        known = self.remembered
        waiting = any(epoch > known for epoch in self.published())
        return known if waiting else max(known, published)

    def remember(self, epoch: int) -> None:
        self.folder.files.replace(self.note, str(epoch))

    def published(self) -> dict[int, list[Segment]]:
        """By epoch. The last one may be here in part: the kernels know up to which all are whole."""
        found: dict[int, list[Segment]] = defaultdict(list)
        for segment in chain(self.topic.partition(0)):
            assert segment.token is not None
            found[int(segment.token.rsplit("-", 2)[1])].append(segment)
        return found

    def all_records(self, epoch: int, segments: list[Segment]) -> Iterator[Record]:
        for number, record in enumerate(chained.from_iterable(self.records(segment) for segment in segments)):
            if number > 0:
                faults.at("carry.during", epoch, self.sink)
            yield record

    def records(self, segment: Segment) -> Iterator[Record]:
        file = SegmentFile.of(self.topic.partition(0), segment, bounded=True)
        try:
            more = Tail.MORE
            while more is Tail.MORE:
                out: list[Record] = []
                more = file.read(out)
                yield from out
        finally:
            file.close()

    def drop(self, segments: list[Segment]) -> None:
        """All but the last of the topic: the next one continues from its offset."""
        where = self.topic.partition(0)
        last = chain(where)[-1].name
        for segment in segments:
            if segment.name != last:
                # First the file that says that it is there.
                for path in dict.fromkeys((segment.name, segment.path)):
                    where.files.delete(f"{where.folder}/{path}")


class Carriage:
    """A thread that carries while a job runs; what goes wrong is kept for the thread that watches the job."""

    def __init__(self, loads: list[Load], published: Callable[[], int]) -> None:
        """`published`: the last epoch of which all rows are in the outbox."""
        self.failure: Exception | None = None
        self._loads = loads
        self._published = published
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="millstream-carriage", daemon=True)

    def start(self) -> None:
        if self._loads:
            self._thread.start()

    def _run(self) -> None:
        try:
            while not self._ended.wait(self._pause()):
                self.carry()
        except Exception as error:
            self.failure = error

    def _pause(self) -> float:
        return max(EVERY, *(part.folder.files.list_every for part in self._loads))

    def carry(self) -> None:
        if self._loads:
            published = self._published()
            for part in self._loads:
                part.carry(published)

    def arrived(self, published: int) -> dict[str, int]:
        """For each sink, the last epoch that it has, of those that are published; -1: none."""
        return {part.sink: part.seen(published) for part in self._loads}

    def close(self) -> None:
        """Carries what is published, if it was started, and ends; a failure is raised."""
        self._ended.set()
        try:
            if self._thread.ident is not None:
                self._thread.join()
                if self.failure is not None:
                    raise self.failure
                self.carry()
        finally:
            for part in self._loads:
                part.carrier.close()


def number_in(text: str, note: str) -> int:
    if not text.isdecimal():
        raise MillstreamError(
            "MS-CHECKPOINT-007",
            f"the checkpoint's file {note} is damaged.",
            found=repr(text[:20]),
            hint="delete it: what the sink itself says then counts",
        )
    return int(text)


def load(sink: Sink, folder: CheckpointFolder, writer: str, types: str) -> Load:
    assert isinstance(sink.options, CarriedSink)
    key = tuple(column.name for name in sink.input.key or () for column in sink.columns if column.field == name)
    shape = RowShape(tuple(column.name for column in sink.columns), key, types)
    topic = open_topic(folder.outbox, outbox_topic(sink.name))
    return Load(sink.name, topic, folder, sink.options.carrier(writer, sink.mode, shape))
