"""What users say of Kafka topics that a job reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from millstream.connectors.kafka.avro import Registry
from millstream.connectors.kafka.cluster import Cluster, at, one_of, wrong
from millstream.connectors.kafka.protobuf import Protobuf
from millstream.connectors.kafka.schemas import Schemas, schemas
from millstream.connectors.kafka.sink import KafkaSink
from millstream.errors import MillstreamError, did_you_mean
from millstream.plan.connectors import Consumed, Format, Jars, KeyFormat, OnError, Reader
from millstream.plan.errors import here

if TYPE_CHECKING:
    from millstream.spark.kafka import Topic

PARTS = {
    "key": "BINARY",
    "topic": "STRING",
    "partition": "INT",
    "offset": "BIGINT",
    "timestamp": "TIMESTAMP",
    "headers": "ARRAY<STRUCT<key: STRING, value: BINARY>>",
}
"""What a record has besides its value."""

OnLoss = Literal["fail", "skip"]
Isolation = Literal["read_committed", "read_uncommitted"]
Offsets = Mapping[int, int] | Mapping[str, Mapping[int, int]]
Starting = str | datetime | Offsets
SPECIAL = {"earliest": -2, "latest": -1}


@dataclass(frozen=True)
class KafkaSource:
    topics: tuple[str, ...]
    cluster: Cluster
    pattern: str | None = None
    format: Format = "json"
    changelog: bool = False
    on_error: OnError = "fail"
    dead_letter_topic: str | None = None
    max_rows_per_epoch: int | None = None
    starting: str = "earliest"
    record: tuple[tuple[str, str], ...] = ()
    key_format: KeyFormat = "json"
    isolation: Isolation = "read_committed"
    group: str | None = None
    jar_folder: str | None = None
    schemas: Schemas | None = None
    on_loss: OnLoss = "fail"

    @property
    def system(self) -> str:
        return "kafka"

    @property
    def label(self) -> str:
        return self.pattern or ",".join(self.topics)

    @property
    def several(self) -> bool:
        return self.pattern is not None or len(self.topics) > 1

    @property
    def dead_letters(self) -> KafkaSink | None:
        if self.dead_letter_topic is None:
            return None
        return KafkaSink(self.dead_letter_topic, self.cluster, jar_folder=self.jar_folder)

    @property
    def record_columns(self) -> tuple[tuple[str, str, str], ...]:
        return tuple((name, part, PARTS[part]) for name, part in self.record)

    def jars(self) -> Jars:
        return Jars("kafka", self.jar_folder)

    @property
    def real_time(self) -> bool:
        return True

    def found(self) -> dict[str, Topic]:
        from millstream.spark.kafka import topics

        return topics(self.cluster.filled(), self.topics, self.pattern)

    def partitions(self) -> int:
        return sum(topic.partitions for topic in self.found().values())

    def identities(self) -> dict[str, str]:
        return {name: topic.id for name, topic in self.found().items()}

    def consumed(self, job: str) -> Consumed:
        return Consumed(self.group or f"millstream.{job}", tuple(self.cluster.filled().items()))

    def reader(self) -> Reader:
        options = {f"kafka.{name}": value for name, value in self.cluster.filled().items()}
        options["kafka.isolation.level"] = self.isolation
        options |= {"subscribePattern": self.pattern} if self.pattern else {"subscribe": ",".join(self.topics)}
        options |= self.starts()
        options["failOnDataLoss"] = "true" if self.on_loss == "fail" else "false"
        if any(part == "headers" for _, part in self.record):
            options["includeHeaders"] = "true"
        if self.max_rows_per_epoch is not None:
            options["maxOffsetsPerTrigger"] = str(self.max_rows_per_epoch)
        values = tuple(self.schemas.filled().items()) if self.schemas else ()
        return Reader(
            "kafka", tuple(options.items()), key_format=self.key_format, values=values, names_topic=self.several
        )

    def starts(self) -> dict[str, str]:
        if self.starting in SPECIAL:
            return {"startingOffsets": self.starting}
        if self.starting.isdigit():
            return {"startingTimestamp": self.starting, "startingOffsetsByTimestampStrategy": "latest"}
        named, there = json.loads(self.starting), self.found()
        for name, parts in named.items():
            known(name, tuple(there))
            for part in parts:
                if int(part) >= there[name].partitions:
                    has = f'topic "{name}" has {there[name].partitions} partitions'
                    raise wrong(f"starting names partition {part}, and {has}.", "partitions are counted from 0")
        offsets = {
            name: {str(n): named.get(name, {}).get(str(n), SPECIAL["earliest"]) for n in range(topic.partitions)}
            for name, topic in there.items()
        }
        return {"startingOffsets": json.dumps(offsets)}


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
    `record`: columns from the record itself, `("timestamp", "partition")`, or under other names,
    `{"sent": "timestamp"}`; it has key, topic, partition, offset, timestamp and headers. `key_format`, for tables:
    what a key without a value looks like, a JSON object with the key's columns, or the plain `text` of one column.
    `starting`: `earliest`, `latest`, a time, or offsets by partition; it only counts when a job has no checkpoint
    yet. `group`: the consumer group under which tools find how far the job has read; `millstream.` and the job's
    name if none is given. `avro_schema`, `registry`: how Avro is read, by one schema or by those that values name.
    `protobuf`: the type of messages. `on_loss`: whether a job fails, or goes on and logs it, when records that it
    was to read are no longer there. `jars`: a folder with the jars, where they cannot be fetched.
    """
    names = (topics,) if isinstance(topics, str) else tuple(topics)
    if bool(names) == (pattern is not None):
        raise wrong("topics are named, or found by a pattern.", 'source("likes"), or source(pattern="likes.*")')
    policy = on_error or ("dead_letter" if dead_letters else "fail")
    one_of("format", format, ("json", "avro", "protobuf", "debezium", "raw"))
    one_of("on_error", policy, ("fail", "skip", "dead_letter"))
    one_of("on_loss", on_loss, ("fail", "skip"))
    one_of("isolation", isolation, ("read_committed", "read_uncommitted"))
    one_of("key_format", key_format, ("json", "text"))
    if (policy == "dead_letter") != (dead_letters is not None):
        raise wrong("dead letters need a topic.", 'on_error="dead_letter", dead_letters="bad_likes"')
    if max_rows_per_epoch is not None and max_rows_per_epoch < 1:
        raise wrong(f"max_rows_per_epoch is {max_rows_per_epoch}.", "give a number above 0, or leave it out")
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
        one_of("record", part, tuple(PARTS))
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
            raise wrong(
                f"a job cannot start reading at {starting!r}.",
                'starting="earliest", "latest", "2026-01-31T12:00:00Z", or {0: 1200, 1: 900}',
            ) from error
    by_topic: dict[str, Mapping[int, int]] = {}
    for name, value in starting.items():
        if isinstance(value, Mapping):
            if topics:
                known(str(name), topics)
            by_topic[str(name)] = value
        elif len(topics) == 1:
            by_topic.setdefault(topics[0], {})
            by_topic[topics[0]] = {**by_topic[topics[0]], int(name): value}
        else:
            raise wrong("offsets of several topics need the topics' names.", 'starting={"likes": {0: 1200}}')
    return json.dumps({topic: {str(n): o for n, o in sorted(part.items())} for topic, part in by_topic.items()})


def known(name: str, topics: tuple[str, ...]) -> None:
    if name not in topics:
        raise MillstreamError(
            "MS-KAFKA-001",
            f'starting names topic "{name}", which is not read.',
            at=here(),
            found="topics: " + ", ".join(sorted(topics)[:20]),
            hint=did_you_mean(name, topics),
        )


def millis(moment: datetime) -> str:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return str(round(aware.timestamp() * 1000))
