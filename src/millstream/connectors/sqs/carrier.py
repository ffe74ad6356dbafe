"""Sends committed epochs, ten messages in a request; those that SQS did not accept are sent again."""

from __future__ import annotations

import hashlib
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from millstream.connectors.aws import Account, explained
from millstream.connectors.message_sink import token
from millstream.connectors.sqs.errors import LARGEST, refused, too_large
from millstream.plan.connectors import Carried

AT_ONCE = 10
TRIES = 8
KEY, DELETED, BINARY, ID = "millstream-key", "millstream-deleted", "millstream-base64", "millstream-id"
"""Attributes: the key of a row, that the row of this key is gone, that the body is Base64, and the message's token."""
ONE_GROUP = "millstream"
EMPTY = "-"
"""SQS takes no empty body."""
Entry = dict[str, Any]


class SqsCarrier:
    def __init__(self, account: Account, queue: str, writer: str, *, raw: bool) -> None:
        self._queue = queue
        self._writer = writer
        self._raw = raw
        self._fifo = queue.endswith(".fifo")
        with explained("SQS", queue):
            self._client = account.client("sqs")
            self._url = str(self._client.get_queue_url(QueueName=queue)["QueueUrl"])

    def last(self) -> None:
        """SQS keeps no number of an epoch."""
        return

    def carry(self, epoch: int, records: Iterable[Carried]) -> None:
        entries = self._entries(epoch, records)
        while part := list(islice(entries, AT_ONCE)):
            # A request takes as many bytes as a message may have.
            for portion in portions(part):
                self._send(portion)

    def _send(self, entries: list[Entry]) -> None:
        """In order: in a FIFO queue, messages behind a failed one wait for it."""
        for attempt in range(TRIES):
            with explained("SQS", self._queue):
                answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
            failed = {one["Id"]: one for one in answer.get("Failed", [])}
            if not failed:
                return
            wrong = next((one for one in failed.values() if one.get("SenderFault")), None)
            if wrong is not None:
                raise refused(self._queue, f"{wrong.get('Code')}: {wrong.get('Message')}")
            entries = [entry for entry in entries if entry["Id"] in failed]
            time.sleep(0.05 * 2**attempt)
        raise refused(self._queue, f"{len(entries)} messages failed {TRIES} times")

    def _entries(self, epoch: int, records: Iterable[Carried]) -> Iterator[Entry]:
        for number, record in enumerate(records):
            id = token(self._writer, epoch, number)
            entry = self._entry(number, id, record)
            if size(entry) > LARGEST:
                raise too_large(self._queue, number, size(entry))
            yield entry

    def _entry(self, number: int, id: str, record: Carried) -> Entry:
        raw = self._raw and record.value is not None
        attributes = {ID: text(id)} | ({KEY: text(record.key.decode())} if record.key else {})
        attributes |= {BINARY: text("true")} if raw else {}
        attributes |= {DELETED: text("true")} if record.value is None else {}
        body = b64encode(record.value or b"").decode() if raw else (record.value or b"").decode()
        ordered = {"MessageGroupId": group(record), "MessageDeduplicationId": within(id)} if self._fifo else {}
        return {"Id": str(number), "MessageBody": body or EMPTY, "MessageAttributes": attributes, **ordered}

    def close(self) -> None:
        self._client.close()


def portions(entries: list[Entry]) -> Iterator[list[Entry]]:
    """In their order, each of no more bytes than a request may have."""
    found: list[Entry] = []
    for entry in entries:
        if found and sum(map(size, found)) + size(entry) > LARGEST:
            yield found
            found = []
        found.append(entry)
    if found:
        yield found


def text(value: str) -> dict[str, str]:
    return {"DataType": "String", "StringValue": value}


def size(entry: Entry) -> int:
    attributes = entry["MessageAttributes"].items()
    return len(entry["MessageBody"].encode()) + sum(
        len(name) + len("String") + len(value["StringValue"].encode()) for name, value in attributes
    )


def group(record: Carried) -> str:
    """Rows of one key keep their order; SQS allows 128 characters."""
    return ONE_GROUP if record.key is None else hashlib.sha256(record.key).hexdigest()


def within(id: str) -> str:
    """A deduplication id has up to 128 characters."""
    return id if len(id) <= 128 else hashlib.sha256(id.encode()).hexdigest()
