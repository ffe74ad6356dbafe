"""A receiver on another machine: it has the client, and does what the front asks of it."""

from __future__ import annotations

import pickle
import socket
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from millstream.reception.answers import Fetched, Greeting, Row, of_error, row
from millstream.reception.line import Line, reached
from millstream.reception.message import Client, EndsNow, Message, TellsBytes, TellsDelay

AT_ONCE = 32 << 20
"""Bytes of messages in one answer, unless a single one has more."""
OPTIONAL = {"behind_ms": TellsDelay, "behind_bytes": TellsBytes, "end_now": EndsNow}
CALLS = ("rest", "waiting", *OPTIONAL)
"""What is asked of the client as it is."""
CLOSE = "close"


def serve(address: tuple[str, int], secret: bytes) -> None:
    """Until the front closes it, or is gone. What is not acknowledged then goes back to the system."""
    try:
        line = reached(address, secret)
    except OSError as error:
        host, port = address
        raise ConnectionError(f"the driver does not answer at {host}:{port}: {error}") from error
    with closing(line):
        try:
            client = connected(line)
            if client is not None:
                answer_all(line, client)
        except OSError:  # the front is gone
            return


def connected(line: Line) -> Client | None:
    """The client of the system that the front names; None: that failed, and the front knows why."""
    named = line.receive()
    try:
        system, number, places = pickle.loads(named)
        client: Client = system.connect(number, places)
    except Exception as error:
        line.send(pickle.dumps(of_error(error)))
        return None
    tells = tuple(name for name, kind in OPTIONAL.items() if isinstance(client, kind))
    line.send(pickle.dumps(Greeting(socket.gethostname(), client.quiet, tells)))
    return client


def answer_all(line: Line, client: Client) -> None:
    served = Served(client)
    with closing(client):
        while (request := pickle.loads(line.receive())) != (CLOSE,):
            line.send(served.answer(*request))
    line.send(pickle.dumps(None))


class Served:
    """A client, and the messages that it gave and that are not acknowledged yet, by number."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._held: dict[int, Message] = {}
        self._ready: deque[Message] = deque()
        self._next = 0

    def answer(self, name: str, *arguments: Any) -> bytes:
        """What the call gave, or its error."""
        try:
            return pickle.dumps(self._do(name, *arguments))
        except Exception as error:
            return pickle.dumps(of_error(error))

    def _do(self, name: str, *arguments: Any) -> Any:
        if name == "fetch":
            return self._fetch(*arguments)
        if name == "acknowledge":
            return self._acknowledge(*arguments)
        if name in CALLS:
            return getattr(self._client, name)(*arguments)
        raise ValueError(f"a receiver is not asked for {name}")

    def _fetch(self, most: int, seconds: float) -> Fetched:
        if not self._ready:
            self._ready.extend(self._client.fetch(most, seconds))
        rows: list[Row] = []
        first, size = self._next, 0
        while self._ready and len(rows) < most and (not rows or size + self._ready[0].size <= AT_ONCE):
            message = self._ready.popleft()
            size += message.size
            self._held[self._next] = message
            self._next += 1
            rows.append(row(message))
        return Fetched(first, rows)

    def _acknowledge(self, numbers: Sequence[int]) -> None:
        self._client.acknowledge([self._held[number] for number in numbers])
        for number in numbers:
            del self._held[number]
