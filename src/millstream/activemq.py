"""Queues and topics of ActiveMQ."""

from millstream.connectors.activemq import *  # noqa: F403
from millstream.connectors.activemq import __all__ as __all__
