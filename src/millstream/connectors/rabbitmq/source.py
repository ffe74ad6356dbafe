"""A queue of RabbitMQ as a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.connectors.message_source import MessageSource
from millstream.connectors.rabbitmq.client import Queue
from millstream.connectors.rabbitmq.connect import Server
from millstream.connectors.rabbitmq.errors import ERRORS
from millstream.connectors.rabbitmq.sink import RabbitMQSink
from millstream.plan.connectors import Errors


@dataclass(frozen=True, kw_only=True)
class RabbitMQSource(MessageSource):
    queue: str
    server: Server
    prefetch: int
    dead_letter_queue: str | None = None

    system: ClassVar[str] = "rabbitmq"
    library: ClassVar[tuple[str, str]] = ("pika", "rabbitmq")
    own_parts: ClassVar[dict[str, str]] = {
        "routing_key": "STRING",
        "exchange": "STRING",
        "content_type": "STRING",
        "correlation_id": "STRING",
    }
    errors: ClassVar[Errors] = ERRORS

    @property
    def label(self) -> str:
        return self.queue

    @property
    def consumed(self) -> str:
        host, port = self.server.place()
        return f"{host}:{port}/{self.server.virtual_host} {self.queue}"

    @property
    def guarantee(self) -> str:
        return f"exactly once (by {self.identity.shown}; a message without one is at least once)"

    @property
    def dead_letters(self) -> RabbitMQSink | None:
        if self.dead_letter_queue is None:
            return None
        return RabbitMQSink(topic=self.dead_letter_queue, server=self.server, routing_key=self.dead_letter_queue)

    def connection(self) -> Queue:
        parts = frozenset(part for _, part in self.record)
        return Queue(self.server, self.queue, self.identity, self.prefetch, parts)
