"""Receives messages: each is appended to the journal, synced, and only then acknowledged.

system ─fetch─▶ known by its id? ─no─▶ journal ─sync─▶ acknowledged        the job reads the journal, in real time, too
                     ╰─yes─▶ dropped, and acknowledged with the others

A crash between sync and acknowledgement brings a message a second time. It is recognised by its id, from what the
journal itself says was received (`memory.py`). One lock guards the appending and the memory. A sync covers the messages
of all receivers: one that drops a duplicate cannot acknowledge it before the first copy is durable.
"""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TypeVar

from millstream.errors import MillstreamError
from millstream.journal.format import MAX_BODY, Segment
from millstream.journal.producer import Producer, producer
from millstream.journal.segments import Partition
from millstream.journal.topics import create, describe, drop, exists, open_topic
from millstream.plan.apart import Machines
from millstream.plan.received import ReceptionFigures
from millstream.reception import retention
from millstream.reception.apart import Apart
from millstream.reception.memory import ID, PLACE, Memory
from millstream.reception.message import (
    PART,
    BeginsSomewhere,
    Client,
    ConnectionLost,
    EndsNow,
    KeepsOfCut,
    Message,
    System,
    TellsBytes,
    TellsDelay,
)
from millstream.reception.pressure import Pressure
from millstream.storage import files_at

LOG = logging.getLogger("millstream")
Given = TypeVar("Given")

AT_ONCE = 2000
"""At most this many messages are synced together."""
WAIT = 0.1
"""Seconds to wait for a message before looking around."""
REST = 0.5
"""Seconds to rest while nothing may be taken, and between two tries to connect."""
PATIENCE = 60
"""Seconds after which a system that does not answer fails the job."""
COUNTED_EVERY = 2.0
"""Seconds between two looks at what waits in the system."""
NOTHING: Mapping[int, int] = {}
DISK_FULL = "MS-JOURNAL-009"
FULL = (errno.ENOSPC, errno.EDQUOT)
LARGEST = MAX_BODY - (1 << 20)
"""Bytes of a message that fit into a record of the journal, with room for its headers."""


@dataclass(frozen=True)
class Limits:
    """`remember`: how many ids; `buffer_bytes`: how much may wait for the job; `message_bytes`: of one message."""

    receivers: int = 1
    remember: int = 200_000
    buffer_bytes: int = 1 << 30
    message_bytes: int = LARGEST
    segment_bytes: int = retention.SEGMENT_BYTES


class Front:
    """The receiver of one source. `source`: what errors call it."""

    def __init__(self, source: str, system: System, folder: str, topic: str, limits: Limits) -> None:
        self.figures = ReceptionFigures()
        self.passing: Callable[[str], None] = lambda point: None
        self._source = source
        self._system = system
        self._machines: Machines | None = None
        self._folder = folder
        self._topic = topic
        self._limits = limits
        self._lock = threading.RLock()
        self._memory = Memory(limits.remember)
        self._out: Producer | None = None
        self._partitions = limits.receivers
        self._pressure = Pressure(folder, topic, limits.buffer_bytes)
        self._counted_at = 0.0
        self._make_topic()

    # --- the life of a reception

    def prepare(self) -> None:
        """Remembers what was received, and sees that the system can be reached."""
        self._forget_copy()
        self._memory = Memory.load(self._folder, self._topic, self._limits.remember)
        if not self._memory.places and isinstance(self._system, BeginsSomewhere):
            self._memory.places.update(self._system.begin())
            self._memory.save(self._folder, self._topic)
        self._system.connect(0, self._memory.places).close()

    def catch_up(self, committed: Mapping[int, int] = NOTHING) -> None:
        """Receives what is there now, or as much of it as there is room for when what is committed is cut off."""
        with self._producing(), closing(self._system.connect(0, self._memory.places)) as client:
            self.cut(committed)
            for messages in there_now(client, self._pressure.high):
                self._handle(client, messages, 0, Event())
            self._count_delay(client)

    def copy(self) -> None:
        """What is there now, for a batch. Nothing is acknowledged: the system keeps it all."""
        self.prepare()
        if any(part.end for part in describe(self._folder, self._topic).partitions):
            raise MillstreamError(
                "MS-RECEIVE-002",
                f'source "{self._source}" cannot be read as a batch: the job has received some of it, and the system '
                "has forgotten that.",
                hint="run the job with ms.available_now(), or the batch with another checkpoint folder",
            )
        files_at(self._folder).replace(self._copied, "")
        with self._producing() as out, closing(self._system.connect(0, {})) as client:
            for messages in there_now(client):
                _, wrong = self._append(messages, 0, client, Event())
                if wrong is not None:
                    raise wrong
            out.flush()

    @property
    def _copied(self) -> str:
        """A file that says that the topic is a copy for a batch, of which nothing was acknowledged."""
        return f"{self._folder}/{self._topic}.copied"

    def _forget_copy(self) -> None:
        if files_at(self._folder).read(self._copied) is not None:
            drop(self._folder, self._topic)
            files_at(self._folder).delete(self._copied)
            self._make_topic()

    def _make_topic(self) -> None:
        if not exists(self._folder, self._topic):
            create(self._folder, self._topic, self._limits.receivers)

    def spread(self, machines: Machines) -> None:
        """Its receivers are to run there. Messages are appended here, and what comes before is received here."""
        self._machines = machines

    def _placed(self, ended: Event) -> System:
        if self._machines is None:
            return self._system
        LOG.info('source "%s": %d receivers on executors', self._source, self._limits.receivers)
        return Apart(self._system, self._machines, self._source, ended)

    def receive(self, ended: Event) -> None:
        """Until it is told to end, with as many receivers as were asked for."""
        failures: list[Exception] = []
        system = self._placed(ended)

        def work(number: int) -> None:
            try:
                self._serve(system, number, ended, failures)
            except Exception as error:
                failures.append(error)

        with self._producing():
            others = [threading.Thread(target=work, args=[n], daemon=True) for n in range(1, self._limits.receivers)]
            for thread in others:
                thread.start()
            work(0)
            for thread in others:
                thread.join()
        if failures:
            raise failures[0]

    def cut(self, committed: Mapping[int, int]) -> None:
        """Frees what the job has committed. `committed`: by partition, the next offset that it will read."""
        done = retention.committed_segments(self._folder, self._topic, committed) if self._out is not None else []
        if not done:
            return
        try:
            self._cut_off(done)
        except (MillstreamError, OSError) as error:
            if not is_disk_full(error):
                raise
            LOG.warning('"%s" cannot be cut, the disk is full: %s', self._topic, error)

    def _cut_off(self, done: Sequence[tuple[Partition, Segment]]) -> None:
        with self._lock:
            if self._out is None:
                return
            self._out.flush()
            self._memory.save(self._folder, self._topic)
        if isinstance(self._system, KeepsOfCut):
            self._system.cut_off(done)
        else:
            retention.delete(done)

    @contextmanager
    def _producing(self) -> Iterator[Producer]:
        """While it lasts, the front is the only one to write to its topic."""
        self._partitions = open_topic(self._folder, self._topic).partitions
        out = self._out = producer(self._folder, self._topic, segment_bytes=self._limits.segment_bytes)
        try:
            yield out
        finally:
            with self._lock:
                self._out = None
            out.close()

    # --- one receiver

    def _serve(self, system: System, number: int, ended: Event, failures: Sequence[Exception]) -> None:
        """Connects again when the connection is lost, for a while."""
        lost: float | None = None
        while not ended.is_set() and not failures:
            try:
                with closing(system.connect(number, self._memory.places)) as client:
                    while not ended.is_set() and not failures:
                        self._step(client, number, ended)
                        lost = None
            except ConnectionLost as error:
                if ended.is_set():
                    return
                now = time.monotonic()
                lost = now if lost is None else lost
                if now - lost > PATIENCE:
                    raise
                LOG.info('source "%s" connects again: %s', self._source, error.message)
                ended.wait(REST)

    def _step(self, client: Client, number: int, ended: Event) -> None:
        if self._pressure.high():
            client.rest(REST)
        elif messages := self._with_room(partial(client.fetch, AT_ONCE, WAIT), client, ended):
            self._handle(client, messages, number, ended)
        now = time.monotonic()
        if now >= self._counted_at:
            self._counted_at = now + COUNTED_EVERY
            self.figures.waiting = client.waiting()
            self._count_delay(client)

    def _count_delay(self, client: Client) -> None:
        if isinstance(client, TellsDelay):
            self.figures.behind_ms = client.behind_ms()
        if isinstance(client, TellsBytes):
            self.figures.behind_bytes = client.behind_bytes()

    def _handle(self, client: Client, messages: Sequence[Message], number: int, ended: Event) -> None:
        self.passing("receive.append.before")
        taken, wrong = self._append(messages, number, client, ended)
        assert self._out is not None
        self.passing("receive.append.after")
        self._with_room(self._out.flush, client, ended)
        self.passing("receive.sync.after")
        self._with_room(partial(client.acknowledge, taken), client, ended)
        self.passing("receive.acknowledge.after")
        with self._lock:
            self.figures.acknowledged += len(taken)
        if wrong is not None:
            raise wrong

    def _append(
        self, messages: Sequence[Message], number: int, client: Client, ended: Event
    ) -> tuple[Sequence[Message], MillstreamError | None]:
        """Those that are in the journal now, or were before; and what is wrong with the one that follows."""
        large = next((at for at, one in enumerate(messages) if one.size > self._limits.message_bytes), None)
        wrong = None if large is None else self._too_large(messages[large])
        taken = rest = messages[:large]
        while rest:
            rest = rest[self._with_room(partial(self._take, rest, number), client, ended) :]
        return taken, wrong

    def _take(self, messages: Sequence[Message], number: int) -> int:
        """How many of them it took: not all if the disk is full."""
        with self._lock:
            for count, message in enumerate(messages):
                try:
                    self._take_one(message, number)
                except MillstreamError as error:
                    if error.code != DISK_FULL or count == 0:
                        raise
                    return count
        return len(messages)

    def _take_one(self, message: Message, number: int) -> None:
        known = message.known or (message.id is not None and not self._memory.is_new(message.id))
        if not known:
            try:
                self._send(message, number)
            except BaseException:
                if message.id is not None:
                    self._memory.forget(message.id)
                raise
            if message.place is not None:
                self._memory.add(None, message.place)
        self.figures.received += 1
        self.figures.redelivered += message.redelivered
        self.figures.duplicates += known

    def _send(self, message: Message, number: int) -> None:
        assert self._out is not None
        headers: list[tuple[str, bytes | str | None]] = [(PART + name, value) for name, value in message.parts]
        if message.id is not None:
            headers.append((ID, message.id))
        if message.place is not None:
            headers.append((PLACE, " ".join(message.place)))
        if message.headers:
            headers += [header for header in message.headers if not header[0].startswith(PART)]
        partition = number % self._partitions
        _, offset = self._out.send(
            message.value, key=message.key, headers=headers, timestamp=message.timestamp, partition=partition
        )
        self._memory.next[partition] = offset + 1

    def _with_room(self, act: Callable[[], Given], client: Client, ended: Event) -> Given:
        """Waits while a disk is full: the system keeps what is not acknowledged."""
        told = False
        while True:
            try:
                return act()
            except (MillstreamError, OSError) as error:
                if not is_disk_full(error) or ended.is_set():
                    raise
                if not told:
                    LOG.warning('source "%s" waits for space on the disk: %s', self._source, error)
                told = True
                client.rest(REST)

    def _too_large(self, message: Message) -> MillstreamError:
        return MillstreamError(
            "MS-RECEIVE-001",
            f'source "{self._source}": {message.label} is too large to be received. It was left where it is.',
            found=f"{message.size} bytes; allowed: {self._limits.message_bytes}",
            hint="allow more by max_message_bytes, up to 63 MiB, or take the message out of the system",
        )


def is_disk_full(error: MillstreamError | OSError) -> bool:
    return error.code == DISK_FULL if isinstance(error, MillstreamError) else error.errno in FULL


def there_now(client: Client, full: Callable[[], bool] = lambda: False) -> Iterator[Sequence[Message]]:
    """As many messages as the system says it holds. Where it cannot say, or others take them, until none comes."""
    if isinstance(client, EndsNow):
        client.end_now()
    waiting, taken = client.waiting(), 0
    while waiting is None or taken < waiting:
        messages = [] if full() else patiently_fetched(client)
        if not messages:
            return
        yield messages
        taken += len(messages)


def patiently_fetched(client: Client) -> Sequence[Message]:
    deadline = time.monotonic() + client.quiet
    while True:
        left = deadline - time.monotonic()
        messages = client.fetch(AT_ONCE, max(0.0, left))
        if messages or left <= 0:
            return messages
