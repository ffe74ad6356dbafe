"""RabbitMQ as source and sink of jobs."""

from millstream.connectors.avro import Registry, registry
from millstream.connectors.protobuf import Protobuf, protobuf
from millstream.connectors.rabbitmq.connect import Server, server
from millstream.connectors.rabbitmq.jars import JARS
from millstream.connectors.rabbitmq.options import sink, source
from millstream.connectors.rabbitmq.sink import RabbitMQSink
from millstream.connectors.rabbitmq.source import RabbitMQSource
from millstream.connectors.rabbitmq.streams.options import stream_sink, stream_source
from millstream.connectors.rabbitmq.streams.sink import StreamSink
from millstream.connectors.rabbitmq.streams.source import StreamSource
from millstream.connectors.secrets import Secret, secret
from millstream.connectors.tls import Tls, tls

__all__ = [
    "JARS",
    "Protobuf",
    "RabbitMQSink",
    "RabbitMQSource",
    "Registry",
    "Secret",
    "Server",
    "StreamSink",
    "StreamSource",
    "Tls",
    "protobuf",
    "registry",
    "secret",
    "server",
    "sink",
    "source",
    "stream_sink",
    "stream_source",
    "tls",
]
