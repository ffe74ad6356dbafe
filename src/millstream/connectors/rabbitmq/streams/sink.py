"""A stream or super stream of RabbitMQ as a sink."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import ClassVar

from millstream.connectors.message_sink import MessageSink
from millstream.connectors.rabbitmq.connect import Server
from millstream.connectors.rabbitmq.errors import ERRORS
from millstream.connectors.rabbitmq.streams.carrier import StreamCarrier
from millstream.connectors.rabbitmq.streams.wire import connected
from millstream.plan.connectors import Errors, RowShape, WriteMode


def streams_of(server: Server, name: str, *, super_stream: bool) -> tuple[str, ...]:
    """The stream, or the streams of which a super stream is made; an error if it is not there."""
    with closing(connected(server)) as connection:
        found = tuple(connection.partitions(name)) if super_stream else (name,)
        for stream in found:
            connection.leader(stream)
    return found


@dataclass(frozen=True, kw_only=True)
class StreamSink(MessageSink):
    server: Server
    super_stream: bool = False

    system: ClassVar[str] = "rabbitmq"
    errors: ClassVar[Errors] = ERRORS

    @property
    def guarantee(self) -> str:
        return "exactly once (publishing ids)"

    def check(self) -> None:
        streams_of(self.server, self.topic, super_stream=self.super_stream)

    def carrier(self, writer: str, mode: WriteMode, shape: RowShape) -> StreamCarrier:
        streams = streams_of(self.server, self.topic, super_stream=self.super_stream)
        return StreamCarrier(self.server, streams, self.topic, writer)
