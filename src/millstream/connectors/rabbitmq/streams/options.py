"""Options for RabbitMQ streams that a job reads or writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from millstream.connectors.avro import Registry
from millstream.connectors.message_sink import writing
from millstream.connectors.message_source import FORMATS, record_parts
from millstream.connectors.protobuf import Protobuf
from millstream.connectors.rabbitmq.connect import Server, streams_at
from millstream.connectors.rabbitmq.errors import CHECKS
from millstream.connectors.rabbitmq.streams.sink import StreamSink
from millstream.connectors.rabbitmq.streams.source import PARTS, OnLoss, StreamSource
from millstream.connectors.schemas import schemas
from millstream.plan.connectors import Format, KeyFormat, OnError

Starting = str | datetime | int | Mapping[str, int]


def stream_source(
    name: str,
    *,
    super_stream: bool = False,
    server: str | Server | None = None,
    starting: Starting = "earliest",
    on_loss: OnLoss = "fail",
    format: Format = "json",
    changelog: bool = False,
    record: Sequence[str] | Mapping[str, str] = (),
    key_format: KeyFormat = "json",
    on_error: OnError | None = None,
    dead_letters: str | None = None,
    max_rows_per_epoch: int | None = None,
    avro_schema: str | Path | None = None,
    registry: str | Registry | None = None,
    protobuf: Protobuf | None = None,
    jars: str | None = None,
) -> StreamSource:
    """Reads a stream, or all streams of a `super_stream`, by offset. Nothing is acknowledged: the checkpoint says how
    far the job has read, and a stream can be read again.

    `server`: an address, `rabbitmq-stream://host:5552/vhost`, or `rabbitmq.server(…)`; otherwise
    `$MILLSTREAM_RABBITMQ_STREAMS`. `starting`: `earliest`, `latest`, a time, an offset, or offsets by stream; it only
    applies when a job has no checkpoint yet. `on_loss`: whether a job fails, or continues, when messages are gone
    before it has read them. `record`: columns from the message itself: key, headers, message_id, stream, offset,
    timestamp. `dead_letters`: a stream for messages that cannot be read. `jars`: a folder with the jars, if they cannot
    be fetched.
    """
    policy = CHECKS.policy(on_error, dead_letters, "a stream", '"bad_orders"')
    CHECKS.one_of("format", format, FORMATS)
    CHECKS.one_of("key_format", key_format, ("json", "text"))
    CHECKS.one_of("on_loss", on_loss, ("fail", "skip"))
    CHECKS.above_zero("max_rows_per_epoch", max_rows_per_epoch)
    return StreamSource(
        name=name,
        server=streams_at(server),
        super_stream=super_stream,
        starting=begin(starting, name),
        on_loss=on_loss,
        format=format,
        changelog=changelog,
        on_error=policy,
        dead_letter_stream=dead_letters,
        record=record_parts(CHECKS, record, PARTS),
        key_format=key_format,
        schemas=schemas(format, avro_schema, registry, protobuf, writes=False),
        max_rows_per_epoch=max_rows_per_epoch,
        jar_folder=jars,
    )


def begin(starting: Starting, name: str) -> str:
    """`earliest`, `latest`, milliseconds since 1970, or offsets by stream, as JSON."""
    if isinstance(starting, int):
        return json.dumps({name: starting})
    if isinstance(starting, Mapping):
        return json.dumps(dict(starting))
    if starting in ("earliest", "latest"):
        return str(starting)
    try:
        moment = starting if isinstance(starting, datetime) else datetime.fromisoformat(starting)
    except ValueError as error:
        raise CHECKS.wrong(
            f"a job cannot start reading at {starting!r}.",
            'starting="earliest", "latest", "2026-01-31T12:00:00Z", 1200, or {"orders-0": 1200}',
        ) from error
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return str(round(aware.timestamp() * 1000))


def stream_sink(
    name: str,
    *,
    super_stream: bool = False,
    server: str | Server | None = None,
    format: Format = "json",
    changelog: bool = False,
    key: str | tuple[str, ...] = (),
    nulls: bool = True,
    avro_schema: str | Path | None = None,
    registry: str | Registry | None = None,
    protobuf: Protobuf | None = None,
) -> StreamSink:
    """Writes to a stream, or to a `super_stream`, where rows of one `key` go to one stream, in order. Messages are
    confirmed, and RabbitMQ drops, by its publishing id, what a crash makes the job send again."""
    return StreamSink(
        topic=name,
        server=streams_at(server),
        super_stream=super_stream,
        **writing(
            CHECKS,
            format=format,
            changelog=changelog,
            key=key,
            nulls=nulls,
            avro_schema=avro_schema,
            registry=registry,
            protobuf=protobuf,
        ),
    )
