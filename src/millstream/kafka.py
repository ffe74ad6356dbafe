"""Kafka: topics as streams and tables, and as exactly-once sinks."""

from millstream.connectors.kafka import (
    JARS,
    Cluster,
    KafkaSink,
    KafkaSource,
    Protobuf,
    Registry,
    Secret,
    cluster,
    protobuf,
    registry,
    sasl,
    secret,
    sink,
    source,
    tls,
)

__all__ = [
    "JARS",
    "Cluster",
    "KafkaSink",
    "KafkaSource",
    "Protobuf",
    "Registry",
    "Secret",
    "cluster",
    "protobuf",
    "registry",
    "sasl",
    "secret",
    "sink",
    "source",
    "tls",
]
