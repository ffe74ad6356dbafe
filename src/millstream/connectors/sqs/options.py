"""Options for SQS queues that a job reads or writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from millstream.connectors.avro import Registry
from millstream.connectors.aws import Account, account_at
from millstream.connectors.message_sink import writing
from millstream.connectors.message_source import reading
from millstream.connectors.protobuf import Protobuf
from millstream.connectors.sqs.errors import CHECKS
from millstream.connectors.sqs.sink import SqsSink
from millstream.connectors.sqs.source import SqsSource
from millstream.plan.connectors import Format, KeyFormat, OnError
from millstream.plan.modes import milliseconds
from millstream.reception import Limits


def source(
    queue: str,
    *,
    account: Account | None = None,
    visibility: str = "60 seconds",
    format: Format = "json",
    changelog: bool = False,
    record: Sequence[str] | Mapping[str, str] = (),
    key_format: KeyFormat = "json",
    id_header: str | None = None,
    id_column: str | None = None,
    on_error: OnError | None = None,
    dead_letters: str | None = None,
    max_rows_per_epoch: int | None = None,
    receivers: int = 1,
    remember: int = Limits.remember,
    buffer_bytes: int = Limits.buffer_bytes,
    max_message_bytes: int | None = None,
    avro_schema: str | Path | None = None,
    registry: str | Registry | None = None,
    protobuf: Protobuf | None = None,
) -> SqsSource:
    """Reads a queue, standard or FIFO: each message is stored beside the checkpoint before it is deleted from the
    queue.

    `account`: `sqs.account(region="eu-west-1")`; otherwise Amazon's usual places. `visibility`: how long a delivered
    message is hidden from others. `record`: columns from the message itself: key, headers, message_id, timestamp,
    redelivered, group, sequence_number, receive_count. `receivers`: how many receive in parallel. `remember`: how many
    ids are kept, to recognise a message that is delivered again.
    """
    hidden = milliseconds(visibility) // 1000
    if not 10 <= hidden <= 43_200:
        raise CHECKS.wrong(f"visibility is {visibility}.", "10 seconds to 12 hours")
    return SqsSource(
        queue=queue,
        account=account_at(account, "MILLSTREAM_SQS"),
        visibility=hidden,
        dead_letter_queue=dead_letters,
        **reading(
            CHECKS,
            SqsSource.parts(),
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
    queue: str,
    *,
    account: Account | None = None,
    format: Format = "json",
    changelog: bool = False,
    key: str | tuple[str, ...] = (),
    nulls: bool = True,
    avro_schema: str | Path | None = None,
    registry: str | Registry | None = None,
    protobuf: Protobuf | None = None,
) -> SqsSink:
    """Writes to a queue. In a FIFO queue, rows of one `key` keep their order, and SQS drops what is sent again within
    five minutes. In a standard queue, readers recognise duplicates by the attribute `millstream-id`."""
    return SqsSink(
        topic=queue,
        account=account_at(account, "MILLSTREAM_SQS"),
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
