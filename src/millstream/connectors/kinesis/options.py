"""Options for Kinesis streams that a job reads or writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from millstream.connectors.avro import Registry
from millstream.connectors.aws import Account, account_at
from millstream.connectors.kinesis.client import OnLoss
from millstream.connectors.kinesis.errors import CHECKS
from millstream.connectors.kinesis.sink import KinesisSink
from millstream.connectors.kinesis.source import KinesisSource
from millstream.connectors.message_sink import writing
from millstream.connectors.message_source import reading
from millstream.connectors.protobuf import Protobuf
from millstream.plan.connectors import Format, KeyFormat, OnError
from millstream.reception import Limits

Starting = str | datetime | Mapping[str, str]


def source(
    stream: str,
    *,
    account: Account | None = None,
    starting: Starting = "earliest",
    on_loss: OnLoss = "fail",
    format: Format = "json",
    changelog: bool = False,
    record: Sequence[str] | Mapping[str, str] = (),
    key_format: KeyFormat = "json",
    id_column: str | None = None,
    on_error: OnError | None = None,
    dead_letters: str | None = None,
    max_rows_per_epoch: int | None = None,
    remember: int = Limits.remember,
    buffer_bytes: int = Limits.buffer_bytes,
    avro_schema: str | Path | None = None,
    registry: str | Registry | None = None,
    protobuf: Protobuf | None = None,
) -> KinesisSource:
    """Reads a stream, shard by shard; the parents of a shard that was split or merged come before their children.

    `account`: `kinesis.account(region="eu-west-1")`; otherwise Amazon's usual places. `starting`: `earliest`, `latest`,
    a time, or for each shard the sequence number after which to begin; it only applies when a job has no checkpoint.
    `on_loss`: whether a job fails, or logs it and continues, when records are gone before it has read them. `record`:
    columns from the record itself: key, timestamp, shard, sequence_number, partition_key.
    """
    CHECKS.one_of("on_loss", on_loss, ("fail", "skip"))
    return KinesisSource(
        stream=stream,
        account=account_at(account, "MILLSTREAM_KINESIS"),
        starting=begin(starting),
        places=tuple(sorted(starting.items())) if isinstance(starting, Mapping) else (),
        on_loss=on_loss,
        dead_letter_stream=dead_letters,
        **reading(
            CHECKS,
            KinesisSource.parts(),
            "a stream",
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
            id_column=id_column,
        ),
    )


def begin(starting: Starting) -> str:
    """`earliest`, `latest`, or milliseconds since 1970."""
    if isinstance(starting, Mapping):
        return "earliest"
    if starting in ("earliest", "latest"):
        return str(starting)
    try:
        moment = starting if isinstance(starting, datetime) else datetime.fromisoformat(starting)
    except ValueError as error:
        raise CHECKS.wrong(
            f"a job cannot start reading at {starting!r}.",
            'starting="earliest", "latest", "2026-01-31T12:00:00Z", or {"shardId-000000000000": "4954…"}',
        ) from error
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return str(round(aware.timestamp() * 1000))


def sink(
    stream: str,
    *,
    account: Account | None = None,
    format: Format = "json",
    changelog: bool = False,
    key: str | tuple[str, ...] = (),
    nulls: bool = True,
    avro_schema: str | Path | None = None,
    registry: str | Registry | None = None,
    protobuf: Protobuf | None = None,
) -> KinesisSink:
    """Writes to a stream; rows of one `key` go to one shard, in order. If a crash makes the job send an epoch again,
    the records have the same token, and a job that reads the stream drops them."""
    return KinesisSink(
        topic=stream,
        account=account_at(account, "MILLSTREAM_KINESIS"),
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
