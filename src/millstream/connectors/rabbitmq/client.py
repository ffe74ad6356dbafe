"""Consumes a queue: what is not acknowledged when the connection ends, RabbitMQ delivers again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from millstream.connectors.elsewhere import with_secrets
from millstream.connectors.message_source import Identity
from millstream.connectors.rabbitmq.carrier import DELETED, KEY
from millstream.connectors.rabbitmq.connect import Server
from millstream.connectors.rabbitmq.errors import closed, explained
from millstream.connectors.rabbitmq.library import pika
from millstream.journal.record import Headers
from millstream.reception import Message


@dataclass(frozen=True)
class Queue:
    """`prefetch`: how many messages are delivered before one is acknowledged. `parts`: of a message, those wanted."""

    server: Server
    name: str
    identity: Identity
    prefetch: int
    parts: frozenset[str]

    def connect(self, number: int, places: Mapping[str, str]) -> QueueClient:
        return QueueClient(self)

    def sent(self) -> Queue:
        return with_secrets(self)


class QueueClient:
    quiet: ClassVar[float] = 10.0

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._delivered: list[Message] = []
        self._cancelled = False
        self._consumer: str | None = None
        """None until messages are wanted: a mere look must not mark any as redelivered."""
        with explained(queue.name):
            self._connection = pika().BlockingConnection(queue.server.parameters())
            self._channel = self._connection.channel()
            self._channel.basic_qos(prefetch_count=queue.prefetch)
            self._channel.add_on_cancel_callback(self._cancel)
            self._channel.queue_declare(queue.name, passive=True)

    def fetch(self, most: int, seconds: float) -> Sequence[Message]:
        with explained(self._queue.name):
            if self._consumer is None:
                self._consumer = self._channel.basic_consume(self._queue.name, self._deliver)
            self._connection.process_data_events(time_limit=0 if self._delivered else seconds)
        if self._cancelled:
            raise closed(self._queue.name, 404, "the queue was deleted")
        taken, self._delivered = self._delivered[:most], self._delivered[most:]
        return taken

    def acknowledge(self, messages: Sequence[Message]) -> None:
        if messages:
            with explained(self._queue.name):
                self._channel.basic_ack(messages[-1].handle, multiple=True)

    def rest(self, seconds: float) -> None:
        with explained(self._queue.name):
            self._connection.sleep(seconds)

    def waiting(self) -> int | None:
        with explained(self._queue.name):
            found = self._channel.queue_declare(self._queue.name, passive=True)
        return int(found.method.message_count) + len(self._delivered)

    def close(self) -> None:
        with suppress(pika().exceptions.AMQPError, OSError):
            self._connection.close()

    def _cancel(self, _: Any) -> None:
        self._cancelled = True

    def _deliver(self, _: Any, method: Any, about: Any, body: bytes) -> None:
        headers = encoded(about.headers) if about.headers else ()
        said = dict(headers)
        value = None if DELETED in said else body
        self._delivered.append(
            Message(
                value,
                id=self._queue.identity.of(about.message_id, headers, value),
                key=said[KEY] if KEY in said else method.routing_key.encode(),
                headers=headers,
                parts=self._parts(method, about) if self._queue.parts else (),
                timestamp=about.timestamp * 1000 if about.timestamp else None,
                redelivered=method.redelivered,
                handle=method.delivery_tag,
            )
        )

    def _parts(self, method: Any, about: Any) -> tuple[tuple[str, bytes], ...]:
        found = {
            "message_id": about.message_id,
            "routing_key": method.routing_key,
            "exchange": method.exchange,
            "content_type": about.content_type,
            "correlation_id": about.correlation_id,
            "redelivered": "true" if method.redelivered else None,
        }
        return tuple((name, text.encode()) for name, text in found.items() if text and name in self._queue.parts)


def encoded(headers: Mapping[str, Any]) -> Headers:
    """Texts and bytes as they are; numbers, times, lists and tables as JSON."""
    return tuple((name, as_bytes(value)) for name, value in headers.items())


def as_bytes(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else json.dumps(value, default=str).encode()
