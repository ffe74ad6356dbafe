"""Receives from a queue. A message that is not deleted in time comes again: its time is extended while it waits."""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from millstream.connectors.aws import Account, explained
from millstream.connectors.elsewhere import with_secrets
from millstream.connectors.message_source import Identity
from millstream.connectors.sqs.carrier import BINARY, DELETED, ID, KEY
from millstream.errors import MillstreamError
from millstream.journal.record import Headers
from millstream.reception import Message

AT_ONCE = 10
"""SQS takes and gives no more in one request."""
LONGEST_POLL = 20


@dataclass(frozen=True)
class Queue:
    """`visibility`: seconds for which a message that was delivered is hidden from others."""

    account: Account
    name: str
    identity: Identity
    visibility: int
    parts: frozenset[str]

    @property
    def fifo(self) -> bool:
        return self.name.endswith(".fifo")

    def connect(self, number: int, places: Mapping[str, str]) -> QueueClient:
        return QueueClient(self)

    def sent(self) -> Queue:
        return with_secrets(replace(self, account=self.account.named()))


@dataclass
class Held:
    """Messages that were delivered and not deleted yet, each by its id; and since when."""

    receipts: dict[str, str] = field(default_factory=dict)
    since: float = 0.0


class QueueClient:
    quiet: ClassVar[float] = 10.0

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._held = Held()
        with self._explained():
            self._client = queue.account.client("sqs")
            self._url = url_of(self._client, queue.name)

    def _explained(self) -> Any:
        return explained("SQS", self._queue.name)

    def fetch(self, most: int, seconds: float) -> Sequence[Message]:
        """Full answers are followed by another request at once: a sync is worth more than ten messages."""
        found: list[Message] = []
        while len(found) + AT_ONCE <= most:
            given = self._receive(0 if found else min(LONGEST_POLL, max(1, round(seconds))))
            found += [self._message(one) for one in given]
            if len(given) < AT_ONCE:
                break
        return found

    def _receive(self, seconds: int) -> list[dict[str, Any]]:
        with self._explained():
            answer = self._client.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=AT_ONCE,
                WaitTimeSeconds=seconds,
                VisibilityTimeout=self._queue.visibility,
                AttributeNames=["All"],
                MessageAttributeNames=["All"],
            )
        given: list[dict[str, Any]] = answer.get("Messages", [])
        if given and not self._held.receipts:
            self._held.since = time.monotonic()
        self._held.receipts |= {one["ReceiptHandle"]: one["MessageId"] for one in given}
        return given

    def acknowledge(self, messages: Sequence[Message]) -> None:
        for at in range(0, len(messages), AT_ONCE):
            part = messages[at : at + AT_ONCE]
            entries = [{"Id": str(number), "ReceiptHandle": one.handle} for number, one in enumerate(part)]
            with self._explained():
                self._client.delete_message_batch(QueueUrl=self._url, Entries=entries)
            # One that could not be deleted comes again, and is recognised.
            for one in part:
                self._held.receipts.pop(one.handle, None)

    def rest(self, seconds: float) -> None:
        """What is held stays hidden from others: their time is extended when half of it is over."""
        if self._held.receipts and time.monotonic() - self._held.since > self._queue.visibility / 2:
            self._change_visibility(self._queue.visibility)
            self._held.since = time.monotonic()
        time.sleep(seconds)

    def waiting(self) -> int | None:
        with self._explained():
            answer = self._client.get_queue_attributes(
                QueueUrl=self._url, AttributeNames=["ApproximateNumberOfMessages"]
            )
        return int(answer["Attributes"]["ApproximateNumberOfMessages"])

    def close(self) -> None:
        """What is held can be delivered again at once."""
        with suppress(MillstreamError):
            self._change_visibility(0)
        self._client.close()

    def _change_visibility(self, seconds: int) -> None:
        receipts = list(self._held.receipts)
        for at in range(0, len(receipts), AT_ONCE):
            entries = [
                {"Id": str(number), "ReceiptHandle": receipt, "VisibilityTimeout": seconds}
                for number, receipt in enumerate(receipts[at : at + AT_ONCE])
            ]
            with self._explained():
                self._client.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)

    def _message(self, given: Mapping[str, Any]) -> Message:
        attributes = given.get("Attributes", {})
        headers = encoded(given.get("MessageAttributes", {}))
        said = {name: value or b"" for name, value in headers}
        body = b64decode(given["Body"]) if BINARY in said else given["Body"].encode()
        value = None if DELETED in said else body
        group = attributes.get("MessageGroupId")
        content = attributes.get("MessageDeduplicationId") if self._queue.fifo else None
        # What a job of ours has sent twice has the same token.
        known = said[ID].decode() if said.get(ID) else content or given["MessageId"]
        sent = attributes.get("SentTimestamp")
        times = int(attributes.get("ApproximateReceiveCount", 1))
        return Message(
            value,
            id=self._queue.identity.of(known, headers, value),
            key=said[KEY] if KEY in said else group.encode() if group else None,
            headers=headers,
            parts=self._parts(given, attributes, times) if self._queue.parts else (),
            timestamp=int(sent) if sent else None,
            redelivered=times > 1,
            handle=given["ReceiptHandle"],
        )

    def _parts(
        self, given: Mapping[str, Any], attributes: Mapping[str, str], times: int
    ) -> tuple[tuple[str, bytes], ...]:
        found = {
            "message_id": given["MessageId"],
            "group": attributes.get("MessageGroupId"),
            "sequence_number": attributes.get("SequenceNumber"),
            "receive_count": str(times),
            "redelivered": "true" if times > 1 else None,
        }
        return tuple((name, text.encode()) for name, text in found.items() if text and name in self._queue.parts)


def url_of(client: Any, name: str) -> str:
    return str(client.get_queue_url(QueueName=name)["QueueUrl"])


def encoded(attributes: Mapping[str, Any]) -> Headers:
    return tuple(
        (name, given["BinaryValue"] if "BinaryValue" in given else given.get("StringValue", "").encode())
        for name, given in attributes.items()
    )
