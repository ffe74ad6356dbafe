"""A test's own queues: made, filled and read by a client that has nothing to do with Millstream's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pika

from servers.rabbitmq import RabbitMQ


@dataclass(frozen=True)
class Queues:
    """Queues whose names begin with the test's own."""

    broker: RabbitMQ
    prefix: str

    @contextmanager
    def channel(self) -> Iterator[Any]:
        connection = pika.BlockingConnection(pika.URLParameters(self.broker.url))
        try:
            yield connection.channel()
        finally:
            connection.close()

    def create(self, name: str, kind: str = "classic", **arguments: Any) -> str:
        with self.channel() as channel:
            more = {"x-queue-type": kind, **arguments}
            channel.queue_declare(f"{self.prefix}.{name}", durable=True, arguments=more)
        return f"{self.prefix}.{name}"

    def super_stream(self, name: str, partitions: int) -> str:
        full = f"{self.prefix}.{name}"
        with self.channel() as channel:
            channel.exchange_declare(full, durable=True, arguments={"x-super-stream": True})
            for number in range(partitions):
                stream = self.create(f"{name}-{number}", "stream")
                order = {"x-stream-partition-order": number}
                channel.queue_bind(stream, full, str(number), arguments=order)
        return full

    def exchange(self, name: str, **bindings: str) -> str:
        """A direct exchange. `bindings`: for a routing key, the queue."""
        with self.channel() as channel:
            channel.exchange_declare(f"{self.prefix}.{name}", durable=True)
            for key, queue in bindings.items():
                channel.queue_bind(queue, f"{self.prefix}.{name}", key)
        return f"{self.prefix}.{name}"

    def send(self, queue: str, *values: Any, ids: bool = True, **more: Any) -> None:
        """Values as JSON, or bytes as they are; each with a message id, confirmed."""
        with self.channel() as channel:
            channel.confirm_delivery()
            for value in values:
                body = value if isinstance(value, bytes) else json.dumps(value).encode()
                about = {"message_id": f"id-{value!r}"[:200]} if ids else {}
                properties = pika.BasicProperties(delivery_mode=2, **{**about, **more})
                channel.basic_publish("", queue, body, properties)

    def count(self, queue: str) -> int:
        """Those that are ready to be delivered."""
        with self.channel() as channel:
            return int(channel.queue_declare(queue, passive=True).method.message_count)

    def answers(self, queue: str) -> bool:
        """Whether the broker, which may just have been started, has got as far as to its queues."""
        try:
            self.count(queue)
        except pika.exceptions.AMQPError:
            return False
        return True

    def read(self, queue: str) -> list[tuple[Any, bytes]]:
        """Takes all there is now: properties and body."""
        found: list[tuple[Any, bytes]] = []
        with self.channel() as channel:
            while True:
                method, about, body = channel.basic_get(queue, auto_ack=True)
                if method is None:
                    return found
                found.append((about, body))

    def stream(self, name: str) -> list[int]:
        """The numbers in a stream, from its beginning."""
        found: list[int] = []
        with self.channel() as channel:
            channel.basic_qos(prefetch_count=1000)
            count = int(channel.queue_declare(name, passive=True).method.message_count)
            for method, _, body in channel.consume(name, arguments={"x-stream-offset": "first"}):
                found.append(json.loads(body)["n"])
                channel.basic_ack(method.delivery_tag)
                if len(found) >= count:
                    return found
        return found
