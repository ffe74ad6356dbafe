"""A stream or super stream of RabbitMQ as a source: a log, read by offset."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from millstream.connectors.rabbitmq.connect import Server
from millstream.connectors.rabbitmq.errors import ERRORS
from millstream.connectors.rabbitmq.jars import JARS
from millstream.connectors.rabbitmq.streams.sink import StreamSink, streams_of
from millstream.connectors.schemas import Schemas
from millstream.plan.connectors import Errors, Format, Jars, KeyFormat, OnError, Reader

PARTS = {
    "key": "BINARY",
    "headers": "ARRAY<STRUCT<key: STRING, value: BINARY>>",
    "message_id": "STRING",
    "stream": "STRING",
    "offset": "BIGINT",
    "timestamp": "TIMESTAMP",
}
"""What a message has besides its value."""
OnLoss = Literal["fail", "skip"]


@dataclass(frozen=True, kw_only=True)
class StreamSource:
    name: str
    server: Server
    super_stream: bool = False
    starting: str = "earliest"
    on_loss: OnLoss = "fail"
    format: Format = "json"
    changelog: bool = False
    on_error: OnError = "fail"
    dead_letter_stream: str | None = None
    record: tuple[tuple[str, str], ...] = ()
    key_format: KeyFormat = "json"
    schemas: Schemas | None = None
    max_rows_per_epoch: int | None = None
    jar_folder: str | None = None

    system: ClassVar[str] = "rabbitmq"
    real_time: ClassVar[bool] = True
    errors: ClassVar[Errors] = ERRORS

    @property
    def label(self) -> str:
        return self.name

    @property
    def guarantee(self) -> str:
        return "exactly once (by offset)"

    @property
    def dead_letters(self) -> StreamSink | None:
        return StreamSink(topic=self.dead_letter_stream, server=self.server) if self.dead_letter_stream else None

    @property
    def record_columns(self) -> tuple[tuple[str, str, str], ...]:
        return tuple((name, part, PARTS[part]) for name, part in self.record)

    def jars(self) -> Jars:
        return Jars(JARS, self.jar_folder)

    def streams(self) -> tuple[str, ...]:
        return streams_of(self.server, self.name, super_stream=self.super_stream)

    def partitions(self) -> int:
        return len(self.streams())

    def lag(self, told: Mapping[str, str], read: str) -> int | None:
        return int(told["rowsBehind"]) if "rowsBehind" in told else None

    def reader(self) -> Reader:
        host, port = self.server.place()
        user, password = self.server.credentials()
        options = {
            "host": host,
            "port": str(port),
            "virtualHost": self.server.virtual_host,
            "user": user,
            "password": password,
            "streams": json.dumps(self.streams()),
            "starting": self.starting,
            "skips": str(self.on_loss == "skip").lower(),
        }
        if (tls := self.server.encryption()) is not None:
            options["tls"] = tls.ca or ""
        if self.max_rows_per_epoch is not None:
            options["maxRowsPerEpoch"] = str(self.max_rows_per_epoch)
        values = tuple(self.schemas.filled().items()) if self.schemas else ()
        return Reader(
            "millstream.rabbitmq.StreamProvider", tuple(options.items()), key_format=self.key_format, values=values
        )
