"""ActiveMQ, Classic and Artemis, as source and sink of jobs."""

from millstream.connectors.activemq.connect import Server, server
from millstream.connectors.activemq.options import sink, source
from millstream.connectors.activemq.sink import ActiveMQSink
from millstream.connectors.activemq.source import ActiveMQSource
from millstream.connectors.avro import Registry, registry
from millstream.connectors.protobuf import Protobuf, protobuf
from millstream.connectors.secrets import Secret, secret
from millstream.connectors.tls import Tls, tls

__all__ = [
    "ActiveMQSink",
    "ActiveMQSource",
    "Protobuf",
    "Registry",
    "Secret",
    "Server",
    "Tls",
    "protobuf",
    "registry",
    "secret",
    "server",
    "sink",
    "source",
    "tls",
]
