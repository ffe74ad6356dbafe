"""Options for ActiveMQ queues and topics that a job reads or writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from millstream.connectors.activemq.client import Target
from millstream.connectors.activemq.connect import Server, at
from millstream.connectors.activemq.errors import CHECKS
from millstream.connectors.activemq.sink import ActiveMQSink
from millstream.connectors.activemq.source import ActiveMQSource
from millstream.connectors.avro import Registry
from millstream.connectors.message_sink import writing
from millstream.connectors.message_source import reading
from millstream.connectors.protobuf import Protobuf
from millstream.plan.connectors import Format, KeyFormat, OnError
from millstream.reception import Limits


def source(
    queue: str | None = None,
    *,
    topic: str | None = None,
    subscription: str | None = None,
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
) -> ActiveMQSource:
    """Reads a queue, or a topic through a durable `subscription`: each message is stored beside the checkpoint before
    it is acknowledged.

    `server`: an address, `stomp://host:61613`, or `activemq.server(…)`; otherwise `$MILLSTREAM_ACTIVEMQ`. `record`:
    columns from the message itself: key, headers, message_id, timestamp, redelivered, destination, correlation_id,
    content_type. `id_header`, `id_column`: what identifies a message instead of the message id. `remember`: how many
    ids are kept, to recognise a message that is delivered again. `prefetch`: how many messages each of the `receivers`
    holds before they are acknowledged. `buffer_bytes`: how much may wait for the job before receiving pauses.
    """
    CHECKS.above_zero("prefetch", prefetch)
    return ActiveMQSource(
        target=target(queue, topic, subscription, receivers),
        server=at(server),
        prefetch=prefetch,
        dead_letter_queue=dead_letters,
        **reading(
            CHECKS,
            ActiveMQSource.parts(),
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


def target(queue: str | None, topic: str | None, subscription: str | None, receivers: int) -> Target:
    name = queue or topic
    if name is None or (queue is not None and topic is not None):
        raise CHECKS.wrong("a source is a queue or a topic.", 'source("orders"), or source(topic="orders", …)')
    if (topic is None) != (subscription is None):
        raise CHECKS.wrong(
            "a topic is read by a durable subscription, and a queue needs none.", 'subscription="shop": a name of yours'
        )
    if topic is not None and receivers > 1:
        raise CHECKS.wrong("a subscription has one receiver.", "leave out receivers")
    return Target(name, subscription)


def sink(
    queue: str | None = None,
    *,
    topic: str | None = None,
    server: str | Server | None = None,
    format: Format = "json",
    changelog: bool = False,
    key: str | tuple[str, ...] = (),
    nulls: bool = True,
    avro_schema: str | Path | None = None,
    registry: str | Registry | None = None,
    protobuf: Protobuf | None = None,
) -> ActiveMQSink:
    """Writes to a queue or a topic, each epoch in one transaction. Artemis drops an epoch that it already has; in
    Classic, readers recognise duplicates by the header `millstream-id`."""
    name = queue or topic
    if name is None or (queue is not None and topic is not None):
        raise CHECKS.wrong("rows go to a queue or to a topic.", 'sink("orders"), or sink(topic="orders")')
    return ActiveMQSink(
        topic=name,
        to_topic=topic is not None,
        server=at(server),
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
