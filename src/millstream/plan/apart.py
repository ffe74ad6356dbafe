"""Receivers on other machines than the driver: what a source says about them, and what they are given there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable


class Task(Protocol):
    """Work that was started on another machine."""

    @property
    def over(self) -> bool:
        """Whether it has ended there, or never will begin."""

    @property
    def why(self) -> str | None:
        """What it failed of."""

    def cancel(self) -> None: ...


class Machines(Protocol):
    """Other machines that run Python for this process."""

    @property
    def address(self) -> str:
        """The host by which they reach this process."""

    @property
    def bound(self) -> str:
        """The address of this machine at which it is to listen for them."""

    def packed(self, what: object) -> bytes:
        """An object as `pickle.loads` makes it there, with the user's modules that it needs."""

    def start(self, work: Callable[[], None]) -> Task: ...


@runtime_checkable
class ReceivesApart(Protocol):
    """A source whose receivers may run on other machines."""

    @property
    def receivers_apart(self) -> int:
        """How many; 0: they stay in the driver."""

    def needed_there(self) -> Callable[[], object]:
        """Called on such a machine, it fails if something is missing there."""


@runtime_checkable
class SpreadReceiver(Protocol):
    def spread(self, machines: Machines) -> None:
        """From now on, it receives there."""


def receivers_apart(options: object) -> int:
    return options.receivers_apart if isinstance(options, ReceivesApart) else 0
