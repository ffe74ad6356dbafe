"""A queue, or a durable subscription of a topic, of ActiveMQ as a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.connectors.activemq.client import Queue, Target
from millstream.connectors.activemq.connect import Server
from millstream.connectors.activemq.errors import ERRORS
from millstream.connectors.activemq.sink import ActiveMQSink
from millstream.connectors.message_source import MessageSource
from millstream.plan.connectors import Errors


@dataclass(frozen=True, kw_only=True)
class ActiveMQSource(MessageSource):
    target: Target
    server: Server
    prefetch: int
    dead_letter_queue: str | None = None

    system: ClassVar[str] = "activemq"
    library: ClassVar[tuple[str, str]] = ("stomp", "activemq")
    own_parts: ClassVar[dict[str, str]] = {
        "destination": "STRING",
        "correlation_id": "STRING",
        "content_type": "STRING",
    }
    errors: ClassVar[Errors] = ERRORS

    @property
    def label(self) -> str:
        return self.target.name

    @property
    def consumed(self) -> str:
        """Each durable subscription of a topic gets all messages."""
        host, port = self.server.place()
        kind = f"subscription {self.target.subscription} of " if self.target.subscription else ""
        return f"{host}:{port} {kind}{self.target.name}"

    @property
    def guarantee(self) -> str:
        return f"exactly once (by {self.identity.shown})"

    @property
    def dead_letters(self) -> ActiveMQSink | None:
        return ActiveMQSink(topic=self.dead_letter_queue, server=self.server) if self.dead_letter_queue else None

    def connection(self) -> Queue:
        parts = frozenset(part for _, part in self.record)
        return Queue(self.server, self.target, self.identity, self.prefetch, parts)
