"""Carries committed epochs to sinks that the kernels do not know: the second phase, in Python.

epoch ─▶ staged in a journal beside the checkpoint ─commit─▶ published there ─▶ carried to the sink, with its token

Only whole epochs are carried, in order. The sink keeps the epoch's number with the rows, so that one that was carried
before a crash is not carried again. What it said last is remembered here: a sink that knows of less has lost rows.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain as chained
from pathlib import Path

from millstream.errors import MillstreamError
from millstream.journal.durable import replace_text
from millstream.journal.format import Segment
from millstream.journal.record import Record
from millstream.journal.segments import SegmentFile, Tail, chain
from millstream.journal.topics import Topic, create, describe, open_topic
from millstream.plan.connectors import Carrier, RowShape, StagedSink, staged_topic
from millstream.plan.nodes import Sink
from millstream.runtime import faults

FOLDER = "staged"
EVERY = 0.05
"""Seconds between two looks for committed epochs."""


def staged(sinks: Iterable[Sink]) -> list[Sink]:
    return [sink for sink in sinks if isinstance(sink.options, StagedSink)]


def stage(sinks: Iterable[Sink], folder: Path) -> None:
    """Makes the topics that stand in for the sinks. One partition: a key's records stay in their order."""
    for topic in (staged_topic(sink.name) for sink in staged(sinks)):
        if not (folder / FOLDER / topic).exists():
            create(folder / FOLDER, topic, 1)


@dataclass(frozen=True)
class Load:
    """A sink's way: the topic that its rows are staged in, and who carries them on."""

    sink: str
    topic: Topic
    path: Path
    carrier: Carrier

    def carry(self) -> None:
        """Brings every epoch that is published whole to the sink, and then deletes it here."""
        epochs, known = self.epochs(), self.remembered
        last = self.arrived() if any(epoch > known for epoch in epochs) else known
        for epoch, segments in sorted(epochs.items()):
            if epoch > last:
                faults.at("carry.before", epoch, self.sink)
                self.carrier.carry(epoch, self.all_records(epoch, segments))
                faults.at("carry.after", epoch, self.sink)
            self.drop(segments)
            if epoch > known:
                self.remember(self.carrier.last())

    def arrived(self) -> int:
        """The last epoch that the sink has: an error if it once had a later one."""
        last = self.carrier.last()
        if last < self.remembered:
            raise MillstreamError(
                "MS-SINK-007",
                f'sink "{self.sink}" had the rows of epoch {self.remembered}, and has lost them.',
                found="its last epoch: " + ("none" if last < 0 else str(last)),
                hint="bring back what it held, or begin anew with another checkpoint folder",
            )
        return last

    @property
    def note(self) -> Path:
        return self.path / f"{self.topic.name}.carried"

    @property
    def remembered(self) -> int:
        """The last epoch of which the sink has said that it has it; -1: none."""
        return number_in(self.note) if self.note.exists() else -1

    def remember(self, epoch: int) -> None:
        replace_text(self.note, str(epoch))

    def epochs(self) -> dict[int, list[Segment]]:
        """Those that are published whole: a file of theirs was there, and their list of files then was not.

        The list is made before the first file is published, and deleted after the last.
        """
        begun = set(self.published())
        unfinished = {prepared.epoch for prepared in describe(self.path, self.topic.name).prepared}
        return {epoch: segments for epoch, segments in self.published().items() if epoch in begun - unfinished}

    def published(self) -> dict[int, list[Segment]]:
        found: dict[int, list[Segment]] = defaultdict(list)
        for segment in chain(self.topic.partition(0).folder):
            assert segment.token is not None
            found[int(segment.token.rsplit("-", 2)[1])].append(segment)
        return found

    def all_records(self, epoch: int, segments: list[Segment]) -> Iterator[Record]:
        for number, record in enumerate(chained.from_iterable(self.records(segment) for segment in segments)):
            if number > 0:
                faults.at("carry.during", epoch, self.sink)
            yield record

    def records(self, segment: Segment) -> Iterator[Record]:
        file = SegmentFile(self.topic.partition(0), segment.name, segment.base, bounded=True)
        try:
            more = Tail.MORE
            while more is Tail.MORE:
                out: list[Record] = []
                more = file.read(out)
                yield from out
        finally:
            file.close()

    def drop(self, segments: list[Segment]) -> None:
        """All but the last of the topic: the next one goes on from its offset."""
        folder = self.topic.partition(0).folder
        last = chain(folder)[-1].name
        for segment in segments:
            if segment.name != last:
                (folder / segment.name).unlink()


class Carriage:
    """A thread that carries while a job runs; what goes wrong is kept for whoever looks after the job."""

    def __init__(self, loads: list[Load]) -> None:
        self.failure: Exception | None = None
        self._loads = loads
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="millstream-carriage", daemon=True)

    def start(self) -> None:
        if self._loads:
            self._thread.start()

    def _run(self) -> None:
        try:
            while not self._ended.wait(EVERY):
                self.carry()
        except Exception as error:
            self.failure = error

    def carry(self) -> None:
        for part in self._loads:
            part.carry()

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


def number_in(note: Path) -> int:
    text = note.read_text()
    if not text.isdecimal():
        raise MillstreamError(
            "MS-CHECKPOINT-007",
            f"the checkpoint's file {note} is damaged.",
            found=repr(text[:20]),
            hint="delete it: what the sink itself says then counts",
        )
    return int(text)


def load(sink: Sink, folder: Path, writer: str, types: str) -> Load:
    assert isinstance(sink.options, StagedSink)
    path = folder / FOLDER
    key = tuple(column.name for name in sink.input.key or () for column in sink.columns if column.field == name)
    shape = RowShape(tuple(column.name for column in sink.columns), key, types)
    topic = open_topic(path, staged_topic(sink.name))
    return Load(sink.name, topic, path, sink.options.carrier(writer, sink.mode, shape))
