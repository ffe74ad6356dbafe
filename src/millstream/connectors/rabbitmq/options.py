"""Options for RabbitMQ queues that a job reads or writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from millstream.connectors.avro import Registry
from millstream.connectors.message_sink import writing
from millstream.connectors.message_source import reading
from millstream.connectors.protobuf import Protobuf
from millstream.connectors.rabbitmq.connect import Server, at
from millstream.connectors.rabbitmq.errors import CHECKS
from millstream.connectors.rabbitmq.sink import RabbitMQSink
from millstream.connectors.rabbitmq.source import RabbitMQSource
from millstream.plan.connectors import Format, KeyFormat, OnError
from millstream.reception import Limits


def source(
    queue: str,
    *,
    server: str | Server | None = None,
    format: Format = "json",
    changelog: bool = False,
    record: Sequence[str] | Mapping[str, str] = (),
    key_format: KeyFormat = "json",
    id_header: str | None = None,
    id_column: str | None = None,
    on_error: OnError | None = None,
    dead_letters: str | None = None,
    max_rows_per_epoch: int | None = None,
    prefetch: int = 2000,
    receivers: int = 1,
    remember: int = Limits.remember,
    buffer_bytes: int = Limits.buffer_bytes,
    max_message_bytes: int | None = None,
    avro_schema: str | Path | None = None,
    registry: str | Registry | None = None,
    protobuf: Protobuf | None = None,
) -> RabbitMQSource:
    """Reads a queue, classic or quorum: each message is stored beside the checkpoint before it is acknowledged.

    `server`: an address, `amqp://host:5672/vhost`, or `rabbitmq.server(…)`; otherwise `$MILLSTREAM_RABBITMQ`. `record`:
    columns from the message itself: key, headers, message_id, timestamp, redelivered, routing_key, exchange,
    content_type, correlation_id. `id_header`, `id_column`: what identifies a message instead of the message id.
    `remember`: how many ids are kept, to recognise a message that is delivered again. `prefetch`: how many messages
    each of the `receivers` holds before they are acknowledged. `buffer_bytes`: how much may wait for the job before
    receiving pauses. `dead_letters`: a queue for messages that cannot be read.
    """
    CHECKS.above_zero("prefetch", prefetch)
    return RabbitMQSource(
        queue=queue,
        server=at(server),
        prefetch=prefetch,
        dead_letter_queue=dead_letters,
        **reading(
            CHECKS,
            RabbitMQSource.parts(),
            "a queue",
            format=format,
            changelog=changelog,
            record=record,
            key_format=key_format,
            on_error=on_error,
            dead_letters=dead_letters,
            max_rows_per_epoch=max_rows_per_epoch,
            remember=remember,
            buffer_bytes=buffer_bytes,
            avro_schema=avro_schema,
            registry=registry,
            protobuf=protobuf,
            id_header=id_header,
            id_column=id_column,
            receivers=receivers,
            max_message_bytes=max_message_bytes,
        ),
    )


def sink(
    queue: str | None = None,
    *,
    exchange: str | None = None,
    routing_key: str | None = None,
    routing_column: str | None = None,
    server: str | Server | None = None,
    format: Format = "json",
    changelog: bool = False,
    key: str | tuple[str, ...] = (),
    nulls: bool = True,
    avro_schema: str | Path | None = None,
    registry: str | Registry | None = None,
    protobuf: Protobuf | None = None,
) -> RabbitMQSink:
    """Writes to a queue, or to an `exchange` with a `routing_key` or with the one that rows have in `routing_column`.

    Messages are persistent and confirmed. A row that reaches no queue is an error. The message id has the epoch and the
    number of the row in it: it stays the same if a crash makes the job send an epoch again.
    """
    if (queue is None) == (exchange is None):
        raise CHECKS.wrong("rows go to a queue or to an exchange.", 'sink("orders"), or sink(exchange="orders")')
    if queue is not None and (routing_key is not None or routing_column is not None):
        raise CHECKS.wrong("a queue is reached by its name alone.", "leave out the routing key, or name an exchange")
    if routing_key is not None and routing_column is not None:
        raise CHECKS.wrong("the routing key is a text or a column, not both.", "leave one out")
    if routing_column is not None and format != "json":
        raise CHECKS.wrong("the routing key is a column of JSON.", 'format="json", or routing_key="…"')
    return RabbitMQSink(
        topic=queue or f"exchange {exchange}",
        server=at(server),
        exchange=exchange or "",
        routing_key=queue or routing_key,
        routing_column=routing_column,
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
