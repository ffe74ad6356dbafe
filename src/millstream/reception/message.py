"""Messages, and what a connector adds to receive them: its client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from millstream.errors import MillstreamError
from millstream.journal.format import Segment
from millstream.journal.record import Headers
from millstream.journal.segments import Partition

PART = "millstream:"
"""Headers of a record in the journal that begin so are not the sender's: they hold parts of the message itself."""


class ConnectionLost(MillstreamError):
    """The system does not answer. The front connects again, and gives up after a while."""


@dataclass(slots=True)
class Message:
    """A message as its client hands it over.

    `id`: tells it from others, however often it is delivered. `parts`: what the system says about it, by name.
    `handle`: by which the client acknowledges it. `place`: of a log that is read by position, the log and the position.
    `known`: by its place, the client knows that it was received before.
    """

    value: bytes | None
    id: str | None = None
    key: bytes | None = None
    headers: Headers = ()
    parts: tuple[tuple[str, bytes], ...] = ()
    timestamp: int | None = None
    redelivered: bool = False
    handle: Any = None
    place: tuple[str, str] | None = None
    known: bool = False

    @property
    def size(self) -> int:
        return len(self.value or b"") + len(self.key or b"")

    @property
    def label(self) -> str:
        """What an error calls it."""
        if self.id is not None:
            return f'message "{self.id}"'
        return f"the message at {' '.join(self.place)}" if self.place else f"a message that begins {self.value!r:.60}"


class Client(Protocol):
    """A connection to a system. One thread uses it. It raises `ConnectionLost` when the system does not answer."""

    @property
    def quiet(self) -> float:
        """Seconds after which no message will come, where a run takes what is there now."""

    def fetch(self, most: int, seconds: float) -> Sequence[Message]:
        """Messages that are there, at most `most`; if there are none, it waits up to `seconds` for one."""

    def acknowledge(self, messages: Sequence[Message]) -> None:
        """All of them are durable here: the system may forget them."""

    def rest(self, seconds: float) -> None:
        """Takes nothing for `seconds`, and keeps the connection, and what it holds, alive."""

    def waiting(self) -> int | None:
        """How many messages the system holds that were not delivered yet; None: it cannot say."""

    def close(self) -> None:
        """What is not acknowledged goes back to the system."""


@runtime_checkable
class TellsDelay(Protocol):
    """A client of a system that knows how old what waits is, not how much it is."""

    def behind_ms(self) -> int | None:
        """By how much what was fetched last is older than the newest; of several logs, the most. None: not known."""


@runtime_checkable
class TellsBytes(Protocol):
    """A client of a log that knows how many bytes of it wait, not how many messages these are."""

    def behind_bytes(self) -> int: ...


@runtime_checkable
class EndsNow(Protocol):
    """A client of a log that others write to all the time."""

    def end_now(self) -> None:
        """From here on it fetches what is there at this moment, and nothing that comes later."""


@runtime_checkable
class KeepsOfCut(Protocol):
    """A system that still needs something of what the job has committed."""

    def cut_off(self, segments: Sequence[tuple[Partition, Segment]]) -> None:
        """Keeps what it needs of these segments of the journal, durably, and deletes them."""


@runtime_checkable
class BeginsSomewhere(Protocol):
    """A system of logs in which a job that has received nothing yet begins at a place that must not change."""

    def begin(self) -> Mapping[str, str]:
        """What is kept with the checkpoint, among the places, before the first message."""


class System(Protocol):
    """What a client connects to."""

    def connect(self, number: int, places: Mapping[str, str]) -> Client:
        """For the receiver of this number, from 0. `places`: of each log, the position up to which it was received."""


@runtime_checkable
class Travels(Protocol):
    """A system that names what only this machine has, such as secrets."""

    def sent(self) -> System:
        """The same with all of it, for another machine."""
