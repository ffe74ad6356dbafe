"""An exchange or a queue of RabbitMQ as a sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.connectors.message_sink import MessageSink
from millstream.connectors.rabbitmq.carrier import RabbitMQCarrier, Target
from millstream.connectors.rabbitmq.connect import Server
from millstream.connectors.rabbitmq.errors import ERRORS
from millstream.connectors.rabbitmq.library import pika
from millstream.plan.connectors import Errors, RowShape, WriteMode


@dataclass(frozen=True, kw_only=True)
class RabbitMQSink(MessageSink):
    server: Server
    exchange: str = ""
    routing_key: str | None = None
    routing_column: str | None = None

    system: ClassVar[str] = "rabbitmq"
    errors: ClassVar[Errors] = ERRORS

    @property
    def guarantee(self) -> str:
        return "at least once (confirmed; message id tells duplicates)"

    @property
    def target(self) -> Target:
        return Target(self.topic, self.exchange, self.routing_key, self.routing_column)

    def check(self) -> None:
        pika()

    def carrier(self, writer: str, mode: WriteMode, shape: RowShape) -> RabbitMQCarrier:
        return RabbitMQCarrier(self.server, self.target, writer)
