"""Options for Kafka topics that a job reads or writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from millstream.connectors.avro import Registry
from millstream.connectors.kafka.cluster import Cluster, at
from millstream.connectors.kafka.errors import CHECKS
from millstream.connectors.kafka.sink import KafkaSink
from millstream.connectors.kafka.source import PARTS, SPECIAL, Isolation, KafkaSource, OnLoss, read
from millstream.connectors.protobuf import Protobuf
from millstream.connectors.schemas import schemas
from millstream.plan.connectors import Format, KeyFormat, OnError
from millstream.plan.modes import milliseconds
from millstream.plan.options import columns

Offsets = Mapping[int, int] | Mapping[str, Mapping[int, int]]
Starting = str | datetime | Offsets


def source(
    topics: str | Sequence[str] = (),
    *,
    servers: str | Cluster | None = None,
    pattern: str | None = None,
    format: Format = "json",
    changelog: bool = False,
    record: Sequence[str] | Mapping[str, str] = (),
    key_format: KeyFormat = "json",
    starting: Starting = "earliest",
    on_error: OnError | None = None,
    dead_letters: str | None = None,
    on_loss: OnLoss = "fail",
    max_rows_per_epoch: int | None = None,
    isolation: Isolation = "read_committed",
    group: str | None = None,
    avro_schema: str | Path | None = None,
    registry: str | Registry | None = None,
    protobuf: Protobuf | None = None,
    jars: str | None = None,
) -> KafkaSource:
    """Reads topics, by name or by `pattern`, a regular expression.

    `format`: how a value is read: `json`, `avro`, `protobuf`, `debezium` (a change feed, as a table) or `raw`.
    `record`: columns from the record itself, `("timestamp", "partition")`, or under other names, `{"sent":
    "timestamp"}`; it has key, topic, partition, offset, timestamp and headers. `key_format`, for tables: what a key
    without a value looks like, a JSON object with the key's columns, or the plain `text` of one column. `starting`:
    `earliest`, `latest`, a time, or offsets by partition; it only applies when a job has no checkpoint yet. `group`:
    the consumer group under which tools find how far the job has read; by default `millstream.` and the job's name.
    `avro_schema`, `registry`: how Avro is read, by one schema or by those that values name. `protobuf`: the type of
    messages. `on_loss`: whether a job fails, or logs it and continues, when records are gone before it has read them.
    `jars`: a folder with the jars, if they cannot be fetched.
    """
    names = (topics,) if isinstance(topics, str) else tuple(topics)
    if bool(names) == (pattern is not None):
        raise CHECKS.wrong("topics are named, or found by a pattern.", 'source("likes"), or source(pattern="likes.*")')
    policy = CHECKS.policy(on_error, dead_letters, "a topic", '"bad_likes"')
    CHECKS.one_of("format", format, ("json", "avro", "protobuf", "debezium", "raw"))
    CHECKS.one_of("on_loss", on_loss, ("fail", "skip"))
    CHECKS.one_of("isolation", isolation, ("read_committed", "read_uncommitted"))
    CHECKS.one_of("key_format", key_format, ("json", "text"))
    CHECKS.above_zero("max_rows_per_epoch", max_rows_per_epoch)
    return KafkaSource(
        names,
        at(servers),
        pattern,
        format,
        changelog,
        policy,
        dead_letters,
        max_rows_per_epoch,
        begin(starting, names),
        record_parts(record),
        key_format,
        isolation,
        group,
        jars,
        schemas(format, avro_schema, registry, protobuf, writes=False),
        on_loss,
    )


def record_parts(record: Sequence[str] | Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    if isinstance(record, str):
        record = (record,)
    chosen = tuple(record.items()) if isinstance(record, Mapping) else tuple((part, part) for part in record)
    for _, part in chosen:
        CHECKS.one_of("record", part, tuple(PARTS))
    return chosen


def begin(starting: Starting, topics: tuple[str, ...]) -> str:
    """`earliest`, `latest`, milliseconds since 1970, or offsets as JSON, by topic and partition."""
    if isinstance(starting, datetime):
        return millis(starting)
    if isinstance(starting, str):
        if starting in SPECIAL:
            return starting
        try:
            return millis(datetime.fromisoformat(starting))
        except ValueError as error:
            raise CHECKS.wrong(
                f"a job cannot start reading at {starting!r}.",
                'starting="earliest", "latest", "2026-01-31T12:00:00Z", or {0: 1200, 1: 900}',
            ) from error
    by_topic: dict[str, Mapping[int, int]] = {}
    for name, value in starting.items():
        if isinstance(value, Mapping):
            if topics:
                read(str(name), topics)
            by_topic[str(name)] = value
        elif len(topics) == 1:
            by_topic.setdefault(topics[0], {})
            by_topic[topics[0]] = {**by_topic[topics[0]], int(name): value}
        else:
            raise CHECKS.wrong("offsets of several topics need the topics' names.", 'starting={"likes": {0: 1200}}')
    return json.dumps({topic: {str(n): o for n, o in sorted(part.items())} for topic, part in by_topic.items()})


def millis(moment: datetime) -> str:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return str(round(aware.timestamp() * 1000))


def sink(
    topic: str,
    *,
    servers: str | Cluster | None = None,
    format: Format = "json",
    changelog: bool = False,
    key: str | tuple[str, ...] = (),
    transaction_timeout: str = "15 minutes",
    avro_schema: str | Path | None = None,
    registry: str | Registry | None = None,
    protobuf: Protobuf | None = None,
    jars: str | None = None,
    nulls: bool = True,
) -> KafkaSink:
    """Writes to a topic, in transactions: a stream as it is, a table as upserts and tombstones by its key, or, with
    `changelog`, every change as a row with an `op`.

    `transaction_timeout`: how long an epoch may take, and how long the job may be away after a crash, before Kafka
    throws away what was not yet committed there; the brokers allow no more than their `transaction.max.timeout.ms`.
    With `format="avro"` values have the schema of the columns, or `avro_schema`; with a `registry` it is registered as
    the topic's, and each value names it. With `format="protobuf"` values are messages of the type that `protobuf`
    names.
    `nulls=False`: columns that are NULL are left out of the JSON.
    """
    CHECKS.one_of("format", format, ("json", "avro", "protobuf", "raw"))
    found = schemas(format, avro_schema, registry, protobuf, writes=True)
    if changelog and format == "raw":
        raise CHECKS.wrong("raw records have no place for an op.", "leave out changelog or format")
    return KafkaSink(
        topic=topic,
        cluster=at(servers),
        format=format,
        changelog=changelog,
        key=columns(key),
        transaction_timeout_ms=milliseconds(transaction_timeout),
        jar_folder=jars,
        schemas=found,
        nulls=nulls,
    )
