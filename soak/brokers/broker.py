"""What a soak knows about a broker: how to send to it, break it, and read what the job has written back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from typing import ClassVar, Protocol

from servers.proxy import Proxy

NUMBERS, COPIES = "numbers", "copies"
"""What the job reads, and what it writes."""


class Broker(Protocol):
    """A real server. The job reaches it by `way`, which can be cut; the soak itself goes there directly."""

    name: str
    title: str
    way: Proxy
    settles: ClassVar[bool]
    """Whether it confirms messages a moment before it stores them. Then nothing is sent for a while before it is
    killed."""
    forgets_repeats: ClassVar[bool]
    """Whether it drops what a sink sends twice by itself."""
    unsettling: ClassVar[str]
    """What `unsettle` does, in words."""

    def send(self, numbers: Sequence[int]) -> None:
        """Sends all of them, confirmed; after an error, all are sent again, with the same numbers."""

    def restart(self) -> None:
        """Kills the server and starts it again."""

    def unsettle(self) -> None:
        """Forces messages to be delivered again; in a log, moves them to other shards."""

    def copies(self) -> list[tuple[int, str]]:
        """All that the job has written so far: the number, and the token that identifies repeats."""


def numbers_of(name: str) -> str:
    """For two servers of one kind: a job identifies what it receives by the kind and the name of the queue."""
    return f"{NUMBERS}.{name}"


def way_to(stack: ExitStack, port: int) -> Proxy:
    made = stack.enter_context(Proxy())
    made.to = port
    return made


def body(number: int) -> str:
    return json.dumps({"n": number})


def number_in(value: bytes | str) -> int:
    found: int = json.loads(value)["n"]
    return found
