"""ActiveMQ, Classic and Artemis, over STOMP."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from queue import Empty, SimpleQueue
from typing import Any, ClassVar

import stomp

from servers.activemq import PASSWORD, USER, Kind, running
from soak.brokers.broker import COPIES, body, number_in, numbers_of, way_to

PATIENCE = 30
"""Seconds to wait for a receipt."""
MOMENT = 2
"""Seconds after which no more messages come."""
TAKEN = 20


class Heard(stomp.ConnectionListener):  # type: ignore[misc]
    """What comes from the server; None: the connection has ended."""

    def __init__(self) -> None:
        self.receipts: SimpleQueue[str | None] = SimpleQueue()
        self.messages: SimpleQueue[Any] = SimpleQueue()

    def on_receipt(self, frame: Any) -> None:
        self.receipts.put(frame.headers["receipt-id"])

    def on_message(self, frame: Any) -> None:
        self.messages.put(frame)

    def on_error(self, frame: Any) -> None:
        self.receipts.put(None)

    def on_disconnected(self) -> None:
        self.receipts.put(None)


class Active:
    settles: ClassVar[bool] = False
    unsettling: ClassVar[str] = "messages taken and given back by another consumer"

    def __init__(self, stack: ExitStack, kind: Kind) -> None:
        self.name: str = kind
        self._server = stack.enter_context(running(kind))
        self.way = way_to(stack, self._server.port)
        self._receipts = map(str, itertools.count())
        self._kept: tuple[Any, Heard] | None = None
        self._found: list[tuple[int, str]] = []

    @property
    def _classic(self) -> bool:
        return self.name == "classic"

    def _connect(self) -> tuple[Any, Heard]:
        made = stomp.Connection12([("127.0.0.1", self._server.port)], reconnect_attempts_max=1, timeout=3)
        heard = Heard()
        made.set_listener("", heard)
        made.connect(USER, PASSWORD, wait=True)
        return made, heard

    def send(self, numbers: Sequence[int]) -> None:
        connection, heard = self._kept or self._connect()
        self._kept = None
        kind = {} if self._classic else {"destination-type": "ANYCAST"}
        transaction = connection.begin()
        for number in numbers:
            connection.send(
                self._queue(numbers_of(self.name)),
                body(number),
                headers={**kind, "persistent": "true"},
                transaction=transaction,
            )
        receipt = next(self._receipts)
        connection.commit(transaction, receipt=receipt)
        if heard.receipts.get(timeout=PATIENCE) != receipt:
            raise ConnectionError("the server went away")
        self._kept = connection, heard

    def restart(self) -> None:
        self._server.restart()

    def unsettle(self) -> None:
        with self._subscribed(numbers_of(self.name), TAKEN, "client-individual") as messages:
            next(messages, None)

    def copies(self) -> list[tuple[int, str]]:
        with self._subscribed(COPIES, 2000, "auto") as messages:
            self._found += [(number_in(frame.body), frame.headers["millstream-id"]) for frame in messages]
        return self._found

    def _queue(self, name: str) -> str:
        return f"/queue/{name}" if self._classic else name

    @contextmanager
    def _subscribed(self, queue: str, most: int, ack: str) -> Iterator[Iterator[Any]]:
        """Messages, until none comes for a moment."""
        connection, heard = self._connect()
        classic = {"activemq.prefetchSize": str(most)}
        # Artemis gives no more credit to those who do not acknowledge.
        window = -1 if ack == "auto" else most * 200
        artemis = {"subscription-type": "ANYCAST", "consumer-window-size": str(window)}
        connection.subscribe(self._queue(queue), id="1", ack=ack, headers=classic if self._classic else artemis)
        try:
            yield coming(heard)
        finally:
            connection.disconnect()


def coming(heard: Heard) -> Iterator[Any]:
    while True:
        try:
            yield heard.messages.get(timeout=MOMENT)
        except Empty:
            return


class Classic(Active):
    title = "ActiveMQ Classic"
    forgets_repeats: ClassVar[bool] = False

    def __init__(self, stack: ExitStack) -> None:
        super().__init__(stack, "classic")


class Artemis(Active):
    title = "Artemis"
    forgets_repeats: ClassVar[bool] = True

    def __init__(self, stack: ExitStack) -> None:
        super().__init__(stack, "artemis")
