"""Amazon SQS as source and sink of jobs."""

from millstream.connectors.avro import Registry, registry
from millstream.connectors.aws import Account, account
from millstream.connectors.protobuf import Protobuf, protobuf
from millstream.connectors.secrets import Secret, secret
from millstream.connectors.sqs.options import sink, source
from millstream.connectors.sqs.sink import SqsSink
from millstream.connectors.sqs.source import SqsSource

__all__ = [
    "Account",
    "Protobuf",
    "Registry",
    "Secret",
    "SqsSink",
    "SqsSource",
    "account",
    "protobuf",
    "registry",
    "secret",
    "sink",
    "source",
]
