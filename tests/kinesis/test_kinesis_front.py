"""Streams of Kinesis through the front alone: shards, places, starts, gaps, and what a sink puts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millstream import journal, kinesis
from millstream.connectors.kinesis import client as clients
from millstream.connectors.kinesis.carrier import requests
from millstream.errors import MillstreamError
from millstream.plan.connectors import RowShape
from tests.crash.process import until
from tests.kinesis.conftest import Streams

SHAPE = RowShape(("n",), (), "{}")


def received(source: kinesis.KinesisSource, folder: Path) -> list[int]:
    """Up to now, by another start of the same job."""
    bound = source.bound("job", str(folder))
    front = bound.receiver()
    front.prepare()
    front.catch_up()
    return [record.json()["n"] for record in journal.read(folder, bound.topic)]


def test_each_record_once_over_several_starts(streams: Streams, tmp_path: Path) -> None:
    stream = streams.create("orders", 3)
    source = kinesis.source(stream)
    for start in (0, 100, 200):
        streams.send(stream, *({"n": n} for n in range(start, start + 100)))
        assert sorted(received(source, tmp_path)) == list(range(start + 100))


def test_parents_before_children_whatever_is_split_and_merged(streams: Streams, tmp_path: Path) -> None:
    """All records have one key, so they have one order: through a split and a merge, read at once or in parts."""
    stream = streams.create("orders")
    parts, count = tmp_path / "parts", 0

    def send() -> None:
        nonlocal count
        streams.send(stream, *({"n": n} for n in range(count, count + 50)), key="one")
        count += 50

    send()
    assert received(kinesis.source(stream), parts) == list(range(count))
    send()
    streams.split(stream, "shardId-000000000000")
    send()
    assert received(kinesis.source(stream), parts) == list(range(count))
    streams.merge(stream, "shardId-000000000001", "shardId-000000000002")
    send()
    streams.split(stream, "shardId-000000000003")
    send()
    assert received(kinesis.source(stream), parts) == list(range(count))
    assert received(kinesis.source(stream), tmp_path / "whole") == list(range(count))


def test_where_a_job_starts(streams: Streams, tmp_path: Path) -> None:
    stream = streams.create("orders")
    streams.send(stream, {"n": 0}, {"n": 1})
    latest = kinesis.source(stream, starting="latest")
    assert received(latest, tmp_path / "latest") == []
    first = streams.shards(stream)[0]["ShardId"]
    iterator = streams.server.client().get_shard_iterator(
        StreamName=stream, ShardId=first, ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    number = streams.server.client().get_records(ShardIterator=iterator)["Records"][0]["SequenceNumber"]
    moment = kinesis.source(stream, starting="2026-01-01T00:00:00Z")
    streams.send(stream, {"n": 2})
    # The first start of the job decides, not a later one.
    assert received(latest, tmp_path / "latest") == [2]
    assert received(kinesis.source(stream, starting={first: number}), tmp_path / "behind") == [1, 2]
    assert received(moment, tmp_path / "moment") == [0, 1, 2]
    assert received(kinesis.source(stream), tmp_path / "earliest") == [0, 1, 2]


def test_a_gap_is_an_error_or_skipped(streams: Streams, tmp_path: Path) -> None:
    """The record after which the job continues is not there: another stream of the same name has taken its place."""
    stream = streams.create("orders")
    streams.send(stream, {"n": 0})
    assert received(kinesis.source(stream), tmp_path) == [0]
    streams.server.client().delete_stream(StreamName=stream)
    client = streams.server.client()
    until(lambda: stream not in client.list_streams()["StreamNames"])
    client.create_stream(StreamName=stream, ShardCount=1)
    streams.until_active(stream)
    streams.send(stream, {"n": 7})
    with pytest.raises(MillstreamError, match="MS-KINESIS-002"):
        received(kinesis.source(stream), tmp_path)
    assert received(kinesis.source(stream, on_loss="skip"), tmp_path) == [0, 7]


def test_an_epoch_that_is_put_again_is_recognised(streams: Streams, tmp_path: Path) -> None:
    stream = streams.create("out", 2)
    carrier = kinesis.sink(stream).carrier("job.out", "append", SHAPE)
    records = [journal.Record(0, n, 0, b"k%d" % (n % 7), json.dumps({"n": n}).encode()) for n in range(100)]
    for epoch in (0, 0, 1):
        carrier.carry(epoch, records[:80] if epoch == 0 else records[80:])
    carrier.close()
    found = received(kinesis.source(stream), tmp_path)
    assert sorted(found) == list(range(100))
    for key in range(7):
        of_key = [n for n in found if n % 7 == key]
        assert of_key == sorted(of_key)


def test_a_request_has_one_record_of_each_key() -> None:
    entries = [(key, {"Data": b"", "PartitionKey": str(n)}) for n, key in enumerate("abacb")]
    assert [[entry["PartitionKey"] for entry in one] for one in requests(entries)] == [["0", "1"], ["2", "3", "4"]]


def test_a_shard_that_is_busy_is_left_alone(streams: Streams, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server here does not count reads: what Amazon's says then is put in its place."""
    stream = streams.create("orders")
    streams.send(stream, {"n": 0})
    monkeypatch.setattr(clients, "BUSY", 0.0)
    answer, refusals = clients.StreamClient._answer, iter(range(3))

    def busy(self: clients.StreamClient, shard: str, position: clients.Position) -> object:
        if next(refusals, None) is not None:
            kind = self._client.exceptions.ProvisionedThroughputExceededException
            said = {"Error": {"Code": "ProvisionedThroughputExceededException"}, "ResponseMetadata": {}}
            raise kind(said, "GetRecords")
        return answer(self, shard, position)

    monkeypatch.setattr(clients.StreamClient, "_answer", busy)
    bound = kinesis.source(stream).bound("job", str(tmp_path))
    client = bound.connection().connect(0, {})
    found = [message for _ in range(6) for message in client.fetch(10_000, 0.3)]
    client.close()
    assert [message.value for message in found] == [b'{"n": 0}']


def test_how_far_behind_a_source_is(streams: Streams, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server here always says 0 of a shard that is open: what Amazon's says is put in its place."""
    stream = streams.create("orders", 2)
    streams.send(stream, *({"n": n} for n in range(20)))
    bound = kinesis.source(stream).bound("job", str(tmp_path))
    front = bound.receiver()
    front.prepare()
    assert front.figures.behind_ms is None
    front.catch_up()
    assert front.figures.behind_ms == 0
    answer = clients.StreamClient._answer

    def behind(self: clients.StreamClient, shard: str, position: clients.Position) -> object:
        said = 4200 if shard.endswith("0") else 100
        return {**(answer(self, shard, position) or {}), "MillisBehindLatest": said}

    monkeypatch.setattr(clients.StreamClient, "_answer", behind)
    client = bound.connection().connect(0, {})
    assert client.behind_ms() is None
    client.fetch(10_000, 0.0)
    assert client.behind_ms() == 4200
    client.close()


def test_what_is_not_there(streams: Streams) -> None:
    with pytest.raises(MillstreamError, match="MS-AWS-005"):
        kinesis.sink("nowhere").check()
