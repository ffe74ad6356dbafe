"""A RabbitMQ server's address and login."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from millstream.connectors.broker_server import BrokerServer
from millstream.connectors.rabbitmq.errors import CHECKS
from millstream.connectors.rabbitmq.library import pika
from millstream.connectors.secrets import Secret
from millstream.connectors.tls import Tls
from millstream.plan.options import OptionChecks

QUEUES = {"amqp": 5672, "amqps": 5671}
STREAMS = {"rabbitmq-stream": 5552, "rabbitmq-stream+tls": 5551}
HEARTBEAT = 30
"""Seconds: a server that is silently gone is noticed after twice that."""
EXAMPLE = "amqp://host:5672/vhost"


@dataclass(frozen=True)
class Server(BrokerServer):
    ports: ClassVar[Mapping[str, int]] = {**QUEUES, **STREAMS}
    encrypted: ClassVar[Collection[str]] = ("amqps", "rabbitmq-stream+tls")
    checks: ClassVar[OptionChecks] = CHECKS

    def credentials(self) -> tuple[str, str]:
        """A newly installed server has a guest user."""
        user, password = self.login()
        return user or "guest", password or "guest"

    @property
    def virtual_host(self) -> str:
        return unquote(urlsplit(self.url).path.removeprefix("/")) or "/"

    def parameters(self) -> Any:
        """As the client of queues wants them."""
        module, context = pika(), self.context()
        host, port = self.place()
        return module.ConnectionParameters(
            host=host,
            port=port,
            virtual_host=self.virtual_host,
            credentials=module.PlainCredentials(*self.credentials()),
            ssl_options=module.SSLOptions(context, host) if context else None,
            heartbeat=HEARTBEAT,
            blocked_connection_timeout=300,
            socket_timeout=10,
            stack_timeout=15,
        )


def server(url: str, *, user: str | None = None, password: Secret | None = None, tls: Tls | None = None) -> Server:
    """A server: `rabbitmq.server("amqp://host:5672/vhost", user="shop", password=rabbitmq.secret(env="PASSWORD"))`."""
    return Server.checked(url, user, password, tls, EXAMPLE)


def at(given: str | Server | None) -> Server:
    """For queues."""
    return Server.chosen(given, "MILLSTREAM_RABBITMQ", EXAMPLE, QUEUES)


def streams_at(given: str | Server | None) -> Server:
    return Server.chosen(given, "MILLSTREAM_RABBITMQ_STREAMS", "rabbitmq-stream://host:5552/vhost", STREAMS)
