"""Receives from a queue, or from a durable subscription of a topic: what is not acknowledged is delivered again."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from millstream.connectors.activemq.carrier import DELETED, ID, KEY
from millstream.connectors.activemq.connect import Server, connect
from millstream.connectors.elsewhere import with_secrets
from millstream.connectors.message_source import Identity
from millstream.reception import Message

STANDARD = frozenset(
    (
        *("ack", "content-length", "content-type", "correlation-id", "destination", "expires", "message-id"),
        *("persistent", "priority", "redelivered", "reply-to", "subscription", "timestamp", "type"),
    )
)
"""Headers that are not the sender's own."""


@dataclass(frozen=True)
class Target:
    """A queue; or a topic, with the name of a durable subscription."""

    name: str
    subscription: str | None = None

    def destination(self, artemis: bool) -> str:
        if artemis:
            return self.name
        return f"/topic/{self.name}" if self.subscription else f"/queue/{self.name}"

    def subscribing(self, artemis: bool, prefetch: int) -> dict[str, str]:
        """What to ask the server for: Classic and Artemis use different names."""
        if artemis:
            kind = {"subscription-type": "MULTICAST" if self.subscription else "ANYCAST"}
            durable = {"durable-subscription-name": self.subscription} if self.subscription else {}
            return {**kind, **durable, "consumer-window-size": str(prefetch * 1024)}
        durable = {"activemq.subscriptionName": self.subscription} if self.subscription else {}
        return {**durable, "activemq.prefetchSize": str(prefetch)}


@dataclass(frozen=True)
class Queue:
    server: Server
    target: Target
    identity: Identity
    prefetch: int
    parts: frozenset[str]

    def connect(self, number: int, places: Mapping[str, str]) -> QueueClient:
        return QueueClient(self)

    def sent(self) -> Queue:
        return with_secrets(self)


class QueueClient:
    quiet: ClassVar[float] = 3.0

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._subscribed = False
        self._receipts = itertools.count()
        self._connection = connect(queue.server, queue.target.name, queue.target.subscription)

    def _subscribe(self) -> None:
        """Only when messages are wanted: a mere look must not mark any as redelivered."""
        artemis, target = self._connection.artemis, self._queue.target
        self._connection.confirmed(
            "subscribe",
            "subscribed",
            destination=target.destination(artemis),
            id="1",
            ack="client-individual",
            headers=target.subscribing(artemis, self._queue.prefetch),
        )
        self._subscribed = True

    def fetch(self, most: int, seconds: float) -> Sequence[Message]:
        if not self._subscribed:
            self._subscribe()
        found: list[Message] = []
        frame = self._connection.next(seconds)
        while frame is not None:
            found.append(self._message(frame))
            frame = self._connection.next(0) if len(found) < most else None
        return found

    def acknowledge(self, messages: Sequence[Message]) -> None:
        for message in messages[:-1]:
            self._connection.call("ack", id=message.handle)
        if messages:
            self._connection.confirmed("ack", f"ack-{next(self._receipts)}", id=messages[-1].handle)

    def rest(self, seconds: float) -> None:
        """Heartbeats are sent by the client's own thread."""
        self._connection.check()
        time.sleep(seconds)

    def waiting(self) -> int | None:
        """STOMP has no way to ask."""
        return None

    def close(self) -> None:
        self._connection.close()

    def _message(self, frame: Any) -> Message:
        said = frame.headers
        body = frame.body if isinstance(frame.body, bytes) else (frame.body or "").encode()
        headers = tuple((name, text.encode()) for name, text in said.items() if name not in STANDARD)
        value = None if DELETED in said else body
        redelivered = said.get("redelivered") == "true"
        key = said.get(KEY)
        return Message(
            value,
            id=self._queue.identity.of(said.get(ID) or self._id(said["message-id"]), headers, value),
            key=key.encode() if key is not None else None,
            headers=headers,
            parts=self._parts(said, redelivered) if self._queue.parts else (),
            timestamp=int(said["timestamp"]) if said.get("timestamp") else None,
            redelivered=redelivered,
            handle=said["ack"],
        )

    def _id(self, said: str) -> str:
        """Artemis puts the consumer's number before the message's own, and it differs next time."""
        return said.rpartition(",")[2] if self._connection.artemis else said

    def _parts(self, said: Mapping[str, str], redelivered: bool) -> tuple[tuple[str, bytes], ...]:
        found = {
            "message_id": self._id(said["message-id"]),
            "destination": said.get("destination"),
            "correlation_id": said.get("correlation-id"),
            "content_type": said.get("content-type"),
            "redelivered": "true" if redelivered else None,
        }
        return tuple((name, text.encode()) for name, text in found.items() if text and name in self._queue.parts)
