"""Publishes committed epochs: persistent, mandatory, and confirmed by the server before the epoch counts as sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from millstream.connectors.message_sink import token
from millstream.connectors.rabbitmq.connect import Server
from millstream.connectors.rabbitmq.errors import unroutable
from millstream.connectors.rabbitmq.library import pika
from millstream.connectors.rabbitmq.publisher import Publication, Publisher
from millstream.plan.connectors import Carried

KEY, DELETED = "millstream-key", "millstream-deleted"
"""Headers: the key of a row, and that the row of this key is gone."""
PERSISTENT = 2


@dataclass(frozen=True)
class Target:
    """Where messages go. `label`: what users call it; `key`, or for each row the value of `column`: the routing key."""

    label: str
    exchange: str
    key: str | None
    column: str | None

    def routing_key(self, record: Carried) -> str:
        if self.column is None:
            return self.key or ""
        row = json.loads(record.value or record.key or b"{}")
        found = row.get(self.column)
        return "" if found is None else str(found)


class RabbitMQCarrier:
    def __init__(self, server: Server, target: Target, writer: str) -> None:
        self._target = target
        self._writer = writer
        self._publisher = Publisher(server, target.label)

    def last(self) -> None:
        """RabbitMQ keeps no number of an epoch."""
        return

    def carry(self, epoch: int, records: Iterable[Carried]) -> None:
        returned = self._publisher.publish(self._publications(epoch, records))
        if returned is not None:
            raise unroutable(f'"{self._target.label}"', returned)

    def _publications(self, epoch: int, records: Iterable[Carried]) -> Iterator[Publication]:
        properties = pika().BasicProperties
        for number, record in enumerate(records):
            about = properties(
                message_id=token(self._writer, epoch, number), delivery_mode=PERSISTENT, headers=headers(record)
            )
            yield Publication(self._target.exchange, self._target.routing_key(record), record.value or b"", about)

    def close(self) -> None:
        self._publisher.close()


def headers(record: Carried) -> dict[str, Any] | None:
    found: dict[str, Any] = {} if record.key is None else {KEY: record.key}
    return (found | {DELETED: True} if record.value is None else found) or None
