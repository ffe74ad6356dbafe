"""Kinesis, by kinesalite."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar

from servers.kinesis import running
from soak.brokers.broker import COPIES, NUMBERS, body, number_in, way_to

MOST = 6
"""When there are this many shards, two are merged instead."""


class Kinesis:
    name, title = "kinesis", "Kinesis"
    settles: ClassVar[bool] = True
    forgets_repeats: ClassVar[bool] = False
    unsettling: ClassVar[str] = "a shard split, or two merged"

    def __init__(self, stack: ExitStack) -> None:
        self._server = stack.enter_context(running())
        self.way = way_to(stack, self._server.port)
        self._client = self._server.client()
        for stream, shards in ((NUMBERS, 2), (COPIES, 1)):
            self._client.create_stream(StreamName=stream, ShardCount=shards)
            self._wait(stream)

    def _wait(self, stream: str) -> None:
        while self._client.describe_stream(StreamName=stream)["StreamDescription"]["StreamStatus"] != "ACTIVE":
            time.sleep(0.05)

    def send(self, numbers: Sequence[int]) -> None:
        records = [{"Data": body(number), "PartitionKey": str(number)} for number in numbers]
        if self._client.put_records(StreamName=NUMBERS, Records=records)["FailedRecordCount"]:
            raise ConnectionError("not all records were taken")

    def restart(self) -> None:
        self._server.restart()

    def unsettle(self) -> None:
        shards = sorted(filter(is_open, self._shards(NUMBERS)), key=first_hash)
        if len(shards) >= MOST:
            one, other = (shard["ShardId"] for shard in shards[:2])
            self._client.merge_shards(StreamName=NUMBERS, ShardToMerge=one, AdjacentShardToMerge=other)
        else:
            widest = max(shards, key=lambda shard: last_hash(shard) - first_hash(shard))
            middle = str((first_hash(widest) + last_hash(widest)) // 2)
            self._client.split_shard(StreamName=NUMBERS, ShardToSplit=widest["ShardId"], NewStartingHashKey=middle)
        self._wait(NUMBERS)

    def _shards(self, stream: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._client.list_shards(StreamName=stream)["Shards"]
        return found

    def copies(self) -> list[tuple[int, str]]:
        records = [record for shard in self._shards(COPIES) for record in self._records(shard["ShardId"])]
        return [(number_in(record["Data"]), record["PartitionKey"].rpartition("#millstream:")[2]) for record in records]

    def _records(self, shard: str) -> Iterator[dict[str, Any]]:
        asked = {"StreamName": COPIES, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
        place = self._client.get_shard_iterator(**asked)["ShardIterator"]
        while place is not None:
            answer = self._client.get_records(ShardIterator=place)
            if not answer["Records"]:
                return
            yield from answer["Records"]
            place = answer.get("NextShardIterator")


def is_open(shard: dict[str, Any]) -> bool:
    return "EndingSequenceNumber" not in shard["SequenceNumberRange"]


def first_hash(shard: dict[str, Any]) -> int:
    return int(shard["HashKeyRange"]["StartingHashKey"])


def last_hash(shard: dict[str, Any]) -> int:
    return int(shard["HashKeyRange"]["EndingHashKey"])
