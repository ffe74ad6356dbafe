"""RabbitMQ: queues and streams."""

from millstream.connectors.rabbitmq import *  # noqa: F403
from millstream.connectors.rabbitmq import __all__ as __all__
