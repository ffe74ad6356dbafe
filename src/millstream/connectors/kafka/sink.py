"""A topic of Kafka as a sink, in transactions."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.connectors.kafka.cluster import Cluster
from millstream.connectors.kafka.errors import ERRORS
from millstream.connectors.kafka.jars import JARS
from millstream.connectors.kafka.topics import find
from millstream.connectors.schemas import Schemas
from millstream.connectors.topic_sink import TopicSink
from millstream.plan.connectors import Errors, Jars


@dataclass(frozen=True, kw_only=True)
class KafkaSink(TopicSink):
    cluster: Cluster
    transaction_timeout_ms: int = 900_000
    jar_folder: str | None = None
    schemas: Schemas | None = None

    @property
    def system(self) -> str:
        return "kafka"

    @property
    def longest_epoch_ms(self) -> int:
        return self.transaction_timeout_ms

    @property
    def errors(self) -> Errors:
        return ERRORS

    def jars(self) -> Jars:
        return Jars(JARS, self.jar_folder)

    def check(self) -> None:
        find(self.cluster.filled(), (self.topic,), None)

    def secrets(self) -> dict[str, str]:
        return {**self.cluster.secrets(), **(self.schemas.secrets() if self.schemas else {})}

    def writer(self) -> dict[str, str]:
        timeout = str(self.transaction_timeout_ms)
        settings = {f"kafka.{name}": value for name, value in self.cluster.client().items()}
        subject = f"{self.topic}-value"
        values = {"format": self.format, "subject": subject, **(self.schemas.settings() if self.schemas else {})}
        return {
            "kind": "millstream.kafka.KafkaSink",
            "topic": self.topic,
            "kafka.transaction.timeout.ms": timeout,
            **settings,
            **values,
        }
