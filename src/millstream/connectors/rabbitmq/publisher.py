"""Publishes with many confirms outstanding: a thread runs the client, and answers heartbeats meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from millstream.connectors.rabbitmq.connect import Server
from millstream.connectors.rabbitmq.errors import closed, refused, said, unconfirmed, unreachable
from millstream.connectors.rabbitmq.library import pika

WINDOW = 2000
"""How many messages may wait for their confirms."""
PATIENCE = 120
"""Seconds after which confirms will not come any more."""


@dataclass(frozen=True)
class Publication:
    exchange: str
    routing_key: str
    body: bytes
    about: Any


@dataclass
class Batch:
    """What is published together. `answer` gets None when all is confirmed, or what went wrong."""

    rest: Iterator[Publication]
    answer: SimpleQueue[Exception | None] = field(default_factory=SimpleQueue)
    returned: str | None = None
    unconfirmed: set[int] = field(default_factory=set)
    sent: bool = False


class Publisher:
    """One thread uses it. It connects when it is first needed, and again after a failure."""

    def __init__(self, server: Server, label: str) -> None:
        self._server = server
        self._label = label
        self._session: Session | None = None

    def publish(self, messages: Iterable[Publication]) -> str | None:
        """Publishes all of them, confirmed. Returns the server's answer if a message reached no queue."""
        session = self._session or Session(self._server, self._label)
        self._session = None
        batch = Batch(iter(messages))
        failure = session.run(batch)
        if failure is not None:
            session.close()
            raise failure
        self._session = session
        return batch.returned

    def close(self) -> None:
        if self._session is not None:
            self._session.close()


class Session:
    """A connection with one channel. All but `run` and `close` happens in the thread of its loop."""

    def __init__(self, server: Server, label: str) -> None:
        self._label = label
        self._channel: Any = None
        self._batch: Batch | None = None
        self._tag = 0
        self._connection: Any = pika().SelectConnection(
            server.parameters(),
            on_open_callback=lambda _: self._connection.channel(on_open_callback=self._opened),
            on_open_error_callback=lambda _, error: self._fail(self._why(error)),
            on_close_callback=lambda _, error: self._fail(unreachable(error)),
        )
        self._thread = threading.Thread(target=self._connection.ioloop.start, name="millstream-rabbitmq", daemon=True)

    def run(self, batch: Batch) -> Exception | None:
        if self._thread.ident is None:
            self._batch = batch
            self._thread.start()
        elif self._thread.is_alive():
            self._connection.ioloop.add_callback_threadsafe(lambda: self._begin(batch))
        else:
            return unreachable(None)
        try:
            return batch.answer.get(timeout=PATIENCE)
        except Exception:
            return unconfirmed(self._label, f"no confirms for {PATIENCE} seconds")

    def close(self) -> None:
        if self._thread.is_alive():
            self._connection.ioloop.add_callback_threadsafe(self._end)
            self._thread.join(10)

    def _end(self) -> None:
        if self._connection.is_open:
            self._connection.close()
        else:
            self._connection.ioloop.stop()

    def _why(self, error: BaseException) -> Exception:
        client = pika().exceptions
        denied = isinstance(error, client.ProbableAuthenticationError | client.ProbableAccessDeniedError)
        return refused(said(error)) if denied else unreachable(error)

    def _opened(self, channel: Any) -> None:
        self._channel = channel
        channel.add_on_close_callback(self._channel_closed)
        channel.add_on_return_callback(self._return)
        channel.confirm_delivery(self._confirm, callback=lambda _: self._send())

    def _channel_closed(self, _: Any, error: Any) -> None:
        broker = isinstance(error, pika().exceptions.ChannelClosedByBroker)
        self._fail(closed(self._label, error.reply_code, error.reply_text) if broker else unreachable(error))

    def _begin(self, batch: Batch) -> None:
        self._batch = batch
        if self._channel is None or not self._channel.is_open:
            self._fail(unreachable(None))
        else:
            self._send()

    def _send(self) -> None:
        """As many as may wait for confirms; the next ones when half of these are confirmed."""
        batch = self._batch
        if batch is None:
            return
        while not batch.sent and len(batch.unconfirmed) < WINDOW:
            message = next(batch.rest, None)
            if message is None:
                batch.sent = True
                break
            self._tag += 1
            batch.unconfirmed.add(self._tag)
            self._channel.basic_publish(
                message.exchange, message.routing_key, message.body, message.about, mandatory=True
            )
        if batch.sent and not batch.unconfirmed:
            self._answer(None)

    def _confirm(self, frame: Any) -> None:
        batch, method = self._batch, frame.method
        if batch is None:
            return
        if isinstance(method, pika().spec.Basic.Nack):
            self._fail(unconfirmed(self._label, "the server says no to some of them"))
            return
        if method.multiple:
            batch.unconfirmed = {tag for tag in batch.unconfirmed if tag > method.delivery_tag}
        else:
            batch.unconfirmed.discard(method.delivery_tag)
        if len(batch.unconfirmed) <= WINDOW // 2:
            self._send()

    def _return(self, _: Any, method: Any, __: Any, ___: bytes) -> None:
        if self._batch is not None and self._batch.returned is None:
            self._batch.returned = (
                f'exchange "{method.exchange}", routing key "{method.routing_key}": {method.reply_text}'
            )

    def _fail(self, error: Exception) -> None:
        self._answer(error)
        self._connection.ioloop.stop()

    def _answer(self, error: Exception | None) -> None:
        if self._batch is not None:
            self._batch.answer.put(error)
            self._batch = None
