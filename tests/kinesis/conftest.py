"""One server for all tests of Kinesis, and streams with their own names."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from servers.kinesis import Kinesis, running
from tests.crash.process import until
from tests.reception.jobs import Jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERS = itertools.count()
HIGHEST = 2**128


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.server)
            item.add_marker(pytest.mark.slow)


@dataclass(frozen=True)
class Streams:
    """A test's own streams: made, filled and read by Amazon's own client."""

    server: Kinesis
    prefix: str

    def create(self, name: str, shards: int = 1) -> str:
        stream = f"{self.prefix}-{name}"
        self.server.client().create_stream(StreamName=stream, ShardCount=shards)
        self.until_active(stream)
        return stream

    def until_active(self, stream: str) -> None:
        client = self.server.client()
        until(lambda: client.describe_stream(StreamName=stream)["StreamDescription"]["StreamStatus"] == "ACTIVE")

    def send(self, stream: str, *values: Any, key: str | None = None) -> None:
        """Values as JSON, or bytes as they are; by key, or each by its own key."""
        data = [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]
        for at in range(0, len(data), 100):
            records = [{"Data": one, "PartitionKey": key or str(hash(one))} for one in data[at : at + 100]]
            answer = self.server.client().put_records(StreamName=stream, Records=records)
            assert answer["FailedRecordCount"] == 0

    def shards(self, stream: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.server.client().list_shards(StreamName=stream)["Shards"]
        return found

    def split(self, stream: str, shard: str) -> None:
        (found,) = [one for one in self.shards(stream) if one["ShardId"] == shard]
        low, high = (int(found["HashKeyRange"][end]) for end in ("StartingHashKey", "EndingHashKey"))
        middle = str((low + high) // 2)
        self.server.client().split_shard(StreamName=stream, ShardToSplit=shard, NewStartingHashKey=middle)
        self.until_active(stream)

    def merge(self, stream: str, one: str, other: str) -> None:
        self.server.client().merge_shards(StreamName=stream, ShardToMerge=one, AdjacentShardToMerge=other)
        self.until_active(stream)


@pytest.fixture(scope="session")
def server() -> Iterator[Kinesis]:
    with running() as made:
        yield made


@pytest.fixture
def streams(server: Kinesis, monkeypatch: pytest.MonkeyPatch) -> Streams:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return Streams(server, f"t{next(NUMBERS)}")


@pytest.fixture
def jobs(tmp_path: Path, spark: SparkSession) -> Jobs:
    return Jobs(tmp_path, spark)
