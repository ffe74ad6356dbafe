"""A queue or topic of ActiveMQ as a sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.connectors.activemq.carrier import ActiveMQCarrier
from millstream.connectors.activemq.connect import Connection, Server
from millstream.connectors.activemq.errors import ERRORS
from millstream.connectors.message_sink import MessageSink
from millstream.plan.connectors import Errors, RowShape, WriteMode


@dataclass(frozen=True, kw_only=True)
class ActiveMQSink(MessageSink):
    server: Server
    to_topic: bool = False

    system: ClassVar[str] = "activemq"
    errors: ClassVar[Errors] = ERRORS

    @property
    def guarantee(self) -> str:
        return "exactly once in Artemis (its duplicate detection), at least once in Classic (header millstream-id)"

    def check(self) -> None:
        Connection(self.server, self.topic).close()

    def carrier(self, writer: str, mode: WriteMode, shape: RowShape) -> ActiveMQCarrier:
        return ActiveMQCarrier(self.server, self.topic, writer, topic=self.to_topic, raw=self.binary)
