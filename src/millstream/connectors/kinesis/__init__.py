"""Amazon Kinesis as source and sink of jobs."""

from millstream.connectors.avro import Registry, registry
from millstream.connectors.aws import Account, account
from millstream.connectors.kinesis.options import sink, source
from millstream.connectors.kinesis.sink import KinesisSink
from millstream.connectors.kinesis.source import KinesisSource
from millstream.connectors.protobuf import Protobuf, protobuf
from millstream.connectors.secrets import Secret, secret

__all__ = [
    "Account",
    "KinesisSink",
    "KinesisSource",
    "Protobuf",
    "Registry",
    "Secret",
    "account",
    "protobuf",
    "registry",
    "secret",
    "sink",
    "source",
]
