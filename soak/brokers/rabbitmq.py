"""RabbitMQ, with quorum queues."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, ClassVar

import pika

from servers.rabbitmq import running
from soak.brokers.broker import COPIES, NUMBERS, body, number_in, way_to

PERSISTENT = 2
TAKEN = 20


class Rabbit:
    name, title = "rabbitmq", "RabbitMQ"
    settles: ClassVar[bool] = False
    forgets_repeats: ClassVar[bool] = False
    unsettling: ClassVar[str] = "messages taken and given back by another consumer"

    def __init__(self, stack: ExitStack) -> None:
        self._server = stack.enter_context(running())
        self.way = way_to(stack, self._server.port)
        self._address = pika.URLParameters(self._server.url)
        self._channel: Any = None
        self._found: list[tuple[int, str]] = []
        with pika.BlockingConnection(self._address) as connection:
            for queue in (NUMBERS, COPIES):
                connection.channel().queue_declare(queue, durable=True, arguments={"x-queue-type": "quorum"})

    def send(self, numbers: Sequence[int]) -> None:
        if self._channel is None:
            self._channel = pika.BlockingConnection(self._address).channel()
            self._channel.confirm_delivery()
        try:
            for number in numbers:
                about = pika.BasicProperties(delivery_mode=PERSISTENT, message_id=str(number))
                self._channel.basic_publish("", NUMBERS, body(number).encode(), about, mandatory=True)
        except BaseException:
            self._channel = None
            raise

    def restart(self) -> None:
        self._server.restart()

    def unsettle(self) -> None:
        with pika.BlockingConnection(self._address) as connection:
            channel = connection.channel()
            for _ in range(TAKEN):
                channel.basic_get(NUMBERS)

    def copies(self) -> list[tuple[int, str]]:
        with pika.BlockingConnection(self._address) as connection:
            channel = connection.channel()
            while True:
                method, about, value = channel.basic_get(COPIES, auto_ack=True)
                if method is None:
                    return self._found
                self._found.append((number_in(value), about.message_id))
