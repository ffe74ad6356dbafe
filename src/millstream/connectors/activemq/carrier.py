"""Sends committed epochs: to Classic in one transaction each; to Artemis with ids, by which it drops duplicates itself.

Artemis would refuse a whole transaction with an id that it knows, and does not say why: there, none is used.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from millstream.connectors.activemq.connect import Connection, Server
from millstream.connectors.message_sink import token
from millstream.plan.connectors import Carried

KEY, DELETED, ID = "millstream-key", "millstream-deleted", "millstream-id"
"""Headers: the key of a row, that the row of this key is gone, and the message's token."""
DUPLICATE = "_AMQ_DUPL_ID"


class ActiveMQCarrier:
    def __init__(self, server: Server, target: str, writer: str, *, topic: bool, raw: bool) -> None:
        self._server = server
        self._target = target
        self._writer = writer
        self._topic = topic
        self._raw = raw
        self._numbers = itertools.count()
        self._connection: Connection | None = None

    def last(self) -> None:
        """ActiveMQ keeps no number of an epoch."""
        return

    def carry(self, epoch: int, records: Iterable[Carried]) -> None:
        connection = self._connection or Connection(self._server, self._target)
        self._connection = None
        try:
            self._send(connection, epoch, records)
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _send(self, connection: Connection, epoch: int, records: Iterable[Carried]) -> None:
        name, artemis = f"t{next(self._numbers)}", connection.artemis
        within = {} if artemis else {"transaction": name}
        if within:
            connection.call("begin", **within)
        waiting: dict[str, Any] | None = None
        for row, record in enumerate(records):
            if waiting is not None:
                connection.call("send", **waiting)
            headers = {**self._headers(artemis, epoch, row, record), **within}
            waiting = {"destination": self._destination(artemis), "body": record.value or b"", "headers": headers}
        if waiting is None:
            return
        if artemis:
            connection.confirmed("send", name, **waiting)
        else:
            connection.call("send", **waiting)
            connection.confirmed("commit", name, **within)

    def _destination(self, artemis: bool) -> str:
        return self._target if artemis else f"/{'topic' if self._topic else 'queue'}/{self._target}"

    def _headers(self, artemis: bool, epoch: int, row: int, record: Carried) -> dict[str, str]:
        id = token(self._writer, epoch, row)
        found = {"persistent": "true", ID: id}
        if record.key is not None:
            found[KEY] = record.key.decode()
        if record.value is None:
            found[DELETED] = "true"
        if self._raw and record.value is not None:
            found["content-length"] = str(len(record.value))
        if artemis:
            found["destination-type"] = "MULTICAST" if self._topic else "ANYCAST"
            found[DUPLICATE] = id
        return found

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
