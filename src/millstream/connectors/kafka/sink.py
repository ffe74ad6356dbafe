"""What users say of a Kafka topic that a job writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from millstream.connectors.kafka.avro import Registry
from millstream.connectors.kafka.cluster import Cluster, at, one_of, wrong
from millstream.connectors.kafka.protobuf import Protobuf
from millstream.connectors.kafka.schemas import Schemas, schemas
from millstream.plan.connectors import Format, Jars, WriteMode
from millstream.plan.modes import milliseconds


@dataclass(frozen=True)
class KafkaSink:
    topic: str
    cluster: Cluster
    format: Format = "json"
    changelog: bool = False
    key: tuple[str, ...] = ()
    transaction_timeout_ms: int = 900_000
    jar_folder: str | None = None
    schemas: Schemas | None = None

    @property
    def system(self) -> str:
        return "kafka"

    @property
    def label(self) -> str:
        return self.topic

    @property
    def modes(self) -> tuple[WriteMode, ...]:
        if self.changelog:
            return ("changelog",)
        return ("append",) if self.format == "raw" else ("upsert", "append")

    @property
    def guarantee(self) -> str:
        return "exactly once (two phases)"

    @property
    def partition_by(self) -> tuple[str, ...]:
        return ()

    @property
    def longest_epoch_ms(self) -> int:
        return self.transaction_timeout_ms

    def jars(self) -> Jars:
        return Jars("kafka", self.jar_folder)

    def check(self) -> None:
        from millstream.spark.kafka import topics

        topics(self.cluster.filled(), (self.topic,), None)

    def secrets(self) -> dict[str, str]:
        return {**self.cluster.secrets(), **(self.schemas.secrets() if self.schemas else {})}

    def writer(self) -> dict[str, str]:
        timeout = str(self.transaction_timeout_ms)
        settings = {f"kafka.{name}": value for name, value in self.cluster.client().items()}
        values = {"format": self.format, **(self.schemas.settings() if self.schemas else {})}
        return {"kind": "kafka", "topic": self.topic, "kafka.transaction.timeout.ms": timeout, **settings, **values}


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
) -> KafkaSink:
    """Writes to a topic, in transactions: a stream as it is, a table as upserts and tombstones by its key, or, with
    `changelog`, every change as a row with an `op`.

    `transaction_timeout`: so long may an epoch take and, after a crash, the job be away before Kafka throws away
    what was not yet committed there; the brokers allow no more than their `transaction.max.timeout.ms`. With
    `format="avro"` values have the schema of the columns, or `avro_schema`; with a `registry` it is registered as the
    topic's, and each value names it. With `format="protobuf"` values are messages of the type that `protobuf` names.
    """
    one_of("format", format, ("json", "avro", "protobuf", "raw"))
    found = schemas(format, avro_schema, registry, protobuf, writes=True)
    if changelog and format == "raw":
        raise wrong("raw records have no place for an op.", "leave out changelog or format")
    keys = (key,) if isinstance(key, str) else tuple(key)
    return KafkaSink(topic, at(servers), format, changelog, keys, milliseconds(transaction_timeout), jars, found)
