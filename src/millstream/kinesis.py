"""Streams of Amazon Kinesis."""

from millstream.connectors.kinesis import *  # noqa: F403
from millstream.connectors.kinesis import __all__ as __all__
