"""Kafka: topics as streams and tables, and as exactly-once sinks."""

from millstream.connectors.kafka import (
    Cluster,
    KafkaSink,
    KafkaSource,
    Registry,
    Secret,
    cluster,
    registry,
    sasl,
    secret,
    sink,
    source,
    tls,
)

__all__ = [
    "Cluster",
    "KafkaSink",
    "KafkaSource",
    "Registry",
    "Secret",
    "cluster",
    "registry",
    "sasl",
    "secret",
    "sink",
    "source",
    "tls",
]
