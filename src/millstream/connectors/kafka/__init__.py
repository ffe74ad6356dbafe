"""Kafka as source and sink of jobs."""

from millstream.connectors.avro import Registry, registry
from millstream.connectors.kafka.cluster import Cluster, cluster, sasl, tls
from millstream.connectors.kafka.jars import JARS
from millstream.connectors.kafka.options import sink, source
from millstream.connectors.kafka.sink import KafkaSink
from millstream.connectors.kafka.source import KafkaSource
from millstream.connectors.protobuf import Protobuf, protobuf
from millstream.connectors.secrets import Secret, secret

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
