"""Queues of Amazon SQS."""

from millstream.connectors.sqs import *  # noqa: F403
from millstream.connectors.sqs import __all__ as __all__
