"""Puts committed epochs into a stream; records that Kinesis did not accept are sent again.

A request has at most one record of a key: if it fails, no later record of that key was accepted before it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from typing import Any

from millstream.connectors.aws import Account, explained
from millstream.connectors.kinesis.errors import LARGEST, refused, too_large
from millstream.connectors.message_sink import token
from millstream.plan.connectors import Carried

AT_ONCE, BYTES = 500, 4 << 20
"""Records and bytes of one request."""
TRIES = 10
TOKEN = "#millstream:"
"""In the partition key, between the row's key and the token by which readers recognise a duplicate."""
LONGEST_KEY = 256
Entry = dict[str, Any]


class KinesisCarrier:
    def __init__(self, account: Account, stream: str, writer: str) -> None:
        self._stream = stream
        self._writer = writer
        with explained("Kinesis", stream):
            self._client = account.client("kinesis")
            self._client.describe_stream_summary(StreamName=stream)

    def last(self) -> None:
        """Kinesis keeps no number of an epoch."""
        return

    def carry(self, epoch: int, records: Iterable[Carried]) -> None:
        for request in requests(self._entries(epoch, records)):
            self._put(request)

    def _put(self, entries: list[Entry]) -> None:
        for attempt in range(TRIES):
            with explained("Kinesis", self._stream):
                answer = self._client.put_records(StreamName=self._stream, Records=entries)
            results = zip(entries, answer["Records"], strict=True)
            failed = [(entry, result) for entry, result in results if "ErrorCode" in result]
            if not failed:
                return
            entries = [entry for entry, _ in failed]
            why = failed[0][1]
            time.sleep(min(2.0, 0.05 * 2**attempt))
        raise refused(self._stream, f"{len(entries)} records failed {TRIES} times: {why.get('ErrorMessage')}")

    def _entries(self, epoch: int, records: Iterable[Carried]) -> Iterator[tuple[str, Entry]]:
        """With the key for which order counts: each row's own, or one for each row."""
        for number, record in enumerate(records):
            id = token(self._writer, epoch, number)
            key = id if record.key is None else record.key.decode()
            data = record.value or b""
            shown = "" if record.key is None else shortened(key, LONGEST_KEY - len(TOKEN) - len(id))
            entry = {"Data": data, "PartitionKey": f"{shown}{TOKEN}{id}", "ExplicitHashKey": hash_key(key)}
            if size(entry) > LARGEST:
                raise too_large(self._stream, number, size(entry))
            yield key, entry

    def close(self) -> None:
        self._client.close()


def requests(entries: Iterable[tuple[str, Entry]]) -> Iterator[list[Entry]]:
    """In their order, key by key: a record whose key is in a request already begins the next one."""
    found: dict[str, Entry] = {}
    held = 0
    for key, entry in entries:
        if found and (key in found or len(found) == AT_ONCE or held + size(entry) > BYTES):
            yield list(found.values())
            found, held = {}, 0
        found[key] = entry
        held += size(entry)
    if found:
        yield list(found.values())


def size(entry: Entry) -> int:
    return len(entry["Data"]) + len(entry["PartitionKey"].encode())


def shortened(key: str, most: int) -> str:
    return key if len(key) <= most else hashlib.sha256(key.encode()).hexdigest()[: max(0, most)]


def hash_key(key: str) -> str:
    """Makes Kinesis choose the shard by the key alone."""
    return str(int.from_bytes(hashlib.md5(key.encode(), usedforsecurity=False).digest(), "big"))
