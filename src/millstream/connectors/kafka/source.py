"""Topics of Kafka as a source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from millstream.connectors.kafka.cluster import Cluster
from millstream.connectors.kafka.errors import CHECKS, ERRORS
from millstream.connectors.kafka.jars import JARS
from millstream.connectors.kafka.sink import KafkaSink
from millstream.connectors.kafka.topics import Topic, find
from millstream.connectors.schemas import Schemas
from millstream.errors import did_you_mean
from millstream.plan.connectors import Errors, Format, Jars, KeyFormat, Listener, OnError, Reader

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
        return KafkaSink(topic=self.dead_letter_topic, cluster=self.cluster, jar_folder=self.jar_folder)

    @property
    def record_columns(self) -> tuple[tuple[str, str, str], ...]:
        return tuple((name, part, PARTS[part]) for name, part in self.record)

    def jars(self) -> Jars:
        return Jars(JARS, self.jar_folder)

    @property
    def real_time(self) -> bool:
        return True

    def found(self) -> dict[str, Topic]:
        return find(self.cluster.filled(), self.topics, self.pattern)

    def partitions(self) -> int:
        return sum(topic.partitions for topic in self.found().values())

    def identities(self) -> dict[str, str]:
        return {name: topic.id for name, topic in self.found().items()}

    def lag(self, told: Mapping[str, str], read: str) -> int | None:
        """Spark's reader gives the average of its partitions."""
        partitions = sum(len(parts) for parts in json.loads(read).values())
        average = told.get("avgOffsetsBehindLatest")
        return None if average is None else round(float(average) * partitions)

    @property
    def errors(self) -> Errors:
        return ERRORS

    def listeners(self, job: str, source: str) -> tuple[Listener, ...]:
        """One commits the job's progress to the consumer group, one checks whether topics stay the same."""
        client = json.dumps(self.cluster.filled())
        return (
            Listener("millstream.kafka.GroupOffsets", (self.group or f"millstream.{job}", client)),
            Listener("millstream.kafka.TopicIds", (source, json.dumps(self.identities()), client)),
        )

    def reader(self) -> Reader:
        options = {f"kafka.{name}": value for name, value in self.cluster.filled().items()}
        options["kafka.isolation.level"] = self.isolation
        options |= {"subscribePattern": self.pattern} if self.pattern else {"subscribe": ",".join(self.topics)}
        options |= self.starts()
        options["failOnDataLoss"] = "true" if self.on_loss == "fail" else "false"
        if any(part == "headers" for _, part in self.record):
            options["includeHeaders"] = "true"
        rows = self.max_rows_per_epoch
        return Reader(
            "kafka",
            tuple(options.items()),
            limits=() if rows is None else (("maxOffsetsPerTrigger", str(rows)),),
            key_format=self.key_format,
            values=tuple(self.schemas.filled().items()) if self.schemas else (),
            names_topic=self.several,
        )

    def starts(self) -> dict[str, str]:
        if self.starting in SPECIAL:
            return {"startingOffsets": self.starting}
        if self.starting.isdigit():
            return {"startingTimestamp": self.starting, "startingOffsetsByTimestampStrategy": "latest"}
        named, there = json.loads(self.starting), self.found()
        for name, parts in named.items():
            read(name, tuple(there))
            for part in parts:
                if int(part) >= there[name].partitions:
                    has = f'topic "{name}" has {there[name].partitions} partitions'
                    raise CHECKS.wrong(f"starting names partition {part}, and {has}.", "partitions are counted from 0")
        offsets = {
            name: {str(n): named.get(name, {}).get(str(n), SPECIAL["earliest"]) for n in range(topic.partitions)}
            for name, topic in there.items()
        }
        return {"startingOffsets": json.dumps(offsets)}


def read(name: str, topics: tuple[str, ...]) -> None:
    """An error if it is not one of the topics."""
    if name not in topics:
        found = "topics: " + ", ".join(sorted(topics)[:20])
        raise CHECKS.wrong(f'starting names topic "{name}", which is not read.', did_you_mean(name, topics), found)
