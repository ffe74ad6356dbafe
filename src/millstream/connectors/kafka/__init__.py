"""Kafka as source and sink of jobs."""

from millstream.connectors.kafka.avro import Registry, registry
from millstream.connectors.kafka.cluster import Cluster, Secret, cluster, sasl, secret, tls
from millstream.connectors.kafka.jars import JARS
from millstream.connectors.kafka.options import sink, source
from millstream.connectors.kafka.protobuf import Protobuf, protobuf
from millstream.connectors.kafka.sink import KafkaSink
from millstream.connectors.kafka.source import KafkaSource

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
