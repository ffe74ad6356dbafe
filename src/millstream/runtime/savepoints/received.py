"""Takes along what a job has received and not read yet, to the checkpoint in which it continues.

The system has forgotten these messages: there is one copy of them, and one job that reads on. The copy lies where the
job's address is. A job that keeps its address, as when it is rescaled, leaves it there. Otherwise it is copied, and
nobody may receive into the old place any more. On a disk its topics are locked until the old checkpoint is retired. On
HDFS and S3, which have no locks, a last record takes the name of the segment that another run would write next.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import cast

from millstream.errors import MillstreamError
from millstream.journal import lock
from millstream.journal.producer import producer
from millstream.journal.segments import chain
from millstream.journal.topics import Topic, create, create_like, exists, open_topic
from millstream.plan.nodes import Source
from millstream.plan.received import ReceivedSource
from millstream.planner.stages import JobPlan
from millstream.runtime.savepoints.matching import Choices
from millstream.storage import CheckpointFolder, files_at
from millstream.storage.checkpoint import BESIDE, KEPT_KEYS, kept_keys

LAST = b"{}"


@dataclass(frozen=True)
class Received:
    """What the sources of a job have received: it lies in the journal `at`, where some look for it, and others not."""

    at: str
    staying: tuple[Source, ...]
    moving: tuple[Source, ...]
    new: tuple[Source, ...]
    """They have received nothing yet."""

    @classmethod
    def of(cls, plan: JobPlan, choices: Choices, old: CheckpointFolder) -> Received:
        at = old.files.read(old.received_at) or old.received
        received = [source for source in plan.sources if isinstance(source.options, ReceivedSource)]
        new = tuple(source for source in received if source.name in choices.new_sources)
        known = [source for source in received if source.name not in choices.new_sources]
        staying = tuple(source for source in known if cast(ReceivedSource, source.options).folder == at)
        return cls(at, staying, tuple(source for source in known if source not in staying), new)

    def refuse_fork(self) -> None:
        for source in self.moving:
            raise refused(
                source, "a second job cannot have it, too", "restore it without fork, once its job is stopped"
            )

    def refuse_gone(self) -> None:
        for source in self.moving:
            why = f"the checkpoint with {self.at}, which holds it, is not there any more"
            raise refused(source, why, "bring that folder back, or read the source as a new one: new_sources=")

    @contextmanager
    def taken_along(self, new: CheckpointFolder) -> Iterator[None]:
        """While this lasts, nobody else receives what is copied."""
        if self.staying:
            new.files.replace(new.received_at, self.at)
        with ExitStack() as closed:
            for source in self.moving:
                topic = cast(ReceivedSource, source.options).topic
                if exists(self.at, topic):
                    ends = closed.enter_context(self._closed(source, topic))
                    self._copy(topic, ends, new)
            for source in (*self.moving, *self.new):
                make_topic(source)
            yield

    @contextmanager
    def _closed(self, source: Source, topic: str) -> Iterator[dict[int, int]]:
        """By partition, the offset of what is not to be copied; without one, all is."""
        opened = open_topic(self.at, topic)
        partitions = [opened.partition(number) for number in range(opened.partitions)]
        with ExitStack() as locks:
            try:
                ends = {} if files_at(self.at).local else last_records(opened)
                for partition in partitions if not ends else ():
                    locks.callback(lock.acquire(partition).release)
            except MillstreamError as error:
                if error.code != lock.OTHER_WRITER:
                    raise
                why = f"a job still receives it into {self.at}"
                raise refused(source, why, "stop that job first: run.stop(savepoint=…)") from error
            yield ends

    def _copy(self, topic: str, ends: dict[int, int], new: CheckpointFolder) -> None:
        copy_topic(self.at, topic, ends, new.received)
        keys = kept_keys(self.at, topic)
        if exists(keys, KEPT_KEYS):
            copy_topic(keys, KEPT_KEYS, {}, kept_keys(new.received, topic))
        for name in notes(topic, self.at):
            copy(f"{self.at}/{name}", f"{new.received}/{name}")


def notes(topic: str, journal: str) -> list[str]:
    """The files beside a topic: which messages are known, how far a log was read. Of topic "a", neither topic "a.b"
    nor that one's note "a.b.seen"."""
    found = [name for name in files_at(journal).names(journal) if name.startswith(f"{topic}.")]
    topics = [name for name in found if not name.endswith(BESIDE) and exists(journal, name)]
    others = tuple(f"{name}." for name in topics)
    return [name for name in found if name not in topics and not name.endswith(BESIDE) and not name.startswith(others)]


def copy_topic(journal: str, topic: str, ends: dict[int, int], to: str) -> None:
    """`ends`: by partition, the offset of what is not to be copied; without one, all is."""
    opened = open_topic(journal, topic)
    create_like(to, opened)
    for number in range(opened.partitions):
        partition = opened.partition(number)
        for segment in chain(partition):
            if segment.base < ends.get(number, segment.base + 1):
                copy(f"{partition.folder}/{segment.path}", f"{to}/{topic}/{number}/{segment.path}")


def make_topic(source: Source) -> None:
    """Without one, the source cannot be read."""
    options = cast(ReceivedSource, source.options)
    assert options.folder is not None
    if not exists(options.folder, options.topic):
        create(options.folder, options.topic, options.partitions())


def last_records(topic: Topic) -> dict[int, int]:
    """By partition, the offset of a record behind all others: a run that still receives finds its name taken."""
    with producer(topic.journal, topic.name) as out:
        return {number: out.send(LAST, partition=number)[1] for number in range(topic.partitions)}


def copy(file: str, to: str) -> None:
    opened = files_at(file).open(file)
    try:
        content = opened.read(0, opened.size())
    finally:
        opened.close()
    files_at(to).create(to, content)


def refused(source: Source, found: str, hint: str) -> MillstreamError:
    return MillstreamError(
        "MS-SAVEPOINT-011",
        f'source "{source.name}" was received into a checkpoint, and its system has forgotten it: it can only be taken '
        "along.",
        found=found,
        at=source.at,
        hint=hint,
    )
