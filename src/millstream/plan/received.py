"""Sources that cannot be read again: what they send is received into a journal, and the job reads that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event
from typing import Protocol, Self, runtime_checkable

from millstream.plan.connectors import SourceOptions


class Receiver(Protocol):
    def copy(self) -> None:
        """Receives all that there is now, for a run that ends with it, and leaves the system as it was."""

    def prepare(self) -> None:
        """Receives all that there is now, and makes sure that nothing that follows is missed."""

    def receive(self, ended: Event) -> None:
        """Receives until `ended` is set: appended durably, and only then acknowledged."""


@runtime_checkable
class ReceivedSource(SourceOptions, Protocol):
    """A source that cannot be read again: its changes are received into a journal beside the checkpoint."""

    @property
    def folder(self) -> str | None:
        """The journal that it is received into."""

    @property
    def topic(self) -> str:
        """Its topic there."""

    def bound(self, job: str, journal: str) -> Self:
        """The same source, with that journal."""

    def schema(self) -> str | None:
        """Its columns, as the system has them. None: unknown, and users name them."""

    def key(self) -> tuple[str, ...]:
        """What tells its rows apart, as the system has it."""

    def receiver(self) -> Receiver: ...


@runtime_checkable
class ReceivedByStep(ReceivedSource, Protocol):
    """A received source of which a job may have several: each is received into a topic named after its step."""

    def of_step(self, name: str) -> Self: ...


@runtime_checkable
class Consumes(Protocol):
    """A source that takes what it reads from others who read there, too."""

    @property
    def consumed(self) -> str | None:
        """The one thing that it takes messages from, with its address; None: it leaves them there."""


@runtime_checkable
class BufferedReceiver(Receiver, Protocol):
    """A receiver that deletes from its journal what the job has committed."""

    figures: ReceptionFigures
    passing: Callable[[str], None]
    """Told of each place at which a process may be killed."""

    def catch_up(self, committed: Mapping[int, int]) -> None:
        """Receives all that there is now, for a run that ends with it, after `prepare`. What is committed is cut first,
        to make room."""

    def cut(self, committed: Mapping[int, int]) -> None:
        """`committed`: by partition of the journal, the next offset that the job will read."""


@dataclass
class ReceptionFigures:
    """What a reception counts, over all starts of a run."""

    received: int = 0
    acknowledged: int = 0
    redelivered: int = 0
    duplicates: int = 0
    waiting: int | None = None
    behind_ms: int | None = None
    behind_bytes: int | None = None
