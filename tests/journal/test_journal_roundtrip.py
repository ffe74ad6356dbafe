"""What is sent is read, for any records, any partitions and any size of segments."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream import journal
from millstream.errors import MillstreamError
from millstream.journal import format as fmt
from tests.journal.conftest import Disk, NewTopic

Raw = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
"""Timestamp, key, value, headers."""

payloads = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=10), payloads), max_size=3).map(tuple)
records = st.tuples(st.integers(-(2**63), 2**63 - 1), payloads, payloads, headers)


@given(records)
def test_a_frame_is_decoded_as_it_was_encoded(record: Raw) -> None:
    timestamp, key, value, head = record
    frame = fmt.encode(timestamp, key, value, head)
    out: list[journal.Record] = []
    assert fmt.decode(frame, 3, 7, out) == (len(frame), 1, fmt.Why.RAN_OUT)
    assert out == [journal.Record(3, 7, timestamp, key, value, head, True)]
    assert fmt.walk(frame) == (len(frame), 1, fmt.Why.RAN_OUT)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(records, max_size=12), max_size=4),
    st.integers(1, 3),
    st.sampled_from([1, 100, 1000, 1 << 20]),
    st.data(),
)
def test_every_record_comes_back_at_its_offset(
    new_topic: NewTopic, runs: list[list[Raw]], partitions: int, segment_bytes: int, data: st.DataObject
) -> None:
    with new_topic(partitions) as disk:
        sent: dict[tuple[int, int | None], journal.Record] = {}
        for run in runs:  # every run has its own producer
            with journal.producer(disk.path, "t", durable=False, segment_bytes=segment_bytes) as out:
                for timestamp, key, value, head in run:
                    place = out.send(value, key=key, headers=head, timestamp=timestamp)
                    sent[place] = journal.Record(*place, timestamp, key, value, head)
        found = list(journal.read(disk.path, "t"))
        assert {(r.partition, r.offset): r for r in found} == sent
        assert len(found) == len(sent)
        check_starts(disk, found, partitions, data)


def check_starts(disk: Disk, found: list[journal.Record], partitions: int, data: st.DataObject) -> None:
    for number in range(partitions):
        own = [r for r in found if r.partition == number]
        assert [r.offset for r in own] == list(range(len(own)))
        start = data.draw(st.integers(0, len(own)))
        assert list(journal.read(disk.path, "t", partitions=[number], start={number: start})) == own[start:]
        info = journal.describe(disk.path, "t").partitions[number]
        assert (info.start, info.end, info.records) == (0, len(own), len(own))
        assert list(journal.read(disk.path, "t", partitions=[number], start="latest")) == []


def test_partitions_are_given_or_by_key_or_in_turn(new_topic: NewTopic) -> None:
    with new_topic(3) as disk, journal.producer(disk.path, "t") as out:
        assert out.send("x", partition=2) == (2, 0)
        assert out.send("x", key="k")[0] == crc32(b"k") % 3
        assert [out.send("x")[0] for _ in range(4)] == [0, 1, 2, 0]


def test_values_and_keys_may_be_bytes_text_dicts_or_nothing(disk: Disk) -> None:
    when = datetime(2026, 1, 2, 3, 4, 5, 678900, tzinfo=timezone(timedelta(hours=2)))
    with journal.producer(disk.path, "t") as out:
        out.send(b"\xff", key="ä", headers=[("h", "text"), ("n", None)], timestamp=when)
        out.send(
            {"at": when, "day": date(2026, 1, 2), "n": [1, "é"]},
            key={"id": 1},
            timestamp=when.replace(tzinfo=None),
        )
        out.send(None, key=b"gone")
    first, second, third = journal.read(disk.path, "t")
    assert (first.value, first.key, first.headers) == (b"\xff", "ä".encode(), (("h", b"text"), ("n", None)))
    assert first.time == when.astimezone(UTC).replace(microsecond=678000)
    assert second.value == '{"at":"2026-01-02T01:04:05.678900Z","day":"2026-01-02","n":[1,"é"]}'.encode()
    assert second.json()["n"] == [1, "é"]
    assert second.key == b'{"id":1}'
    assert second.time == when.replace(microsecond=678000, tzinfo=UTC)
    assert (third.key, third.value, third.json()) == (b"gone", None, None)
    assert all(r.committed for r in (first, second, third))


@pytest.mark.parametrize(
    "arguments",
    [
        {"value": 3.5},
        {"value": {"a": float("nan")}},
        {"value": {"a": object()}},
        {"value": "\ud800"},
        {"value": "x", "key": 7},
        {"value": "x", "timestamp": 2**63},
        {"value": "x", "headers": [("n" * 70_000, None)]},
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_of_it_stays(disk: Disk, arguments: dict[str, Any]) -> None:
    with journal.producer(disk.path, "t") as out:
        with pytest.raises(MillstreamError) as caught:
            out.send(**arguments)
        assert caught.value.code == "MS-JOURNAL-011"
        assert out.send("next") == (0, 0)
    assert disk.values() == ["next"]


def test_large_records_pass_up_to_the_limit(disk: Disk) -> None:
    largest = bytes(fmt.MAX_BODY - 18)
    with journal.producer(disk.path, "t", durable=False) as out:
        out.send(b"before")
        out.send(largest)
        with pytest.raises(MillstreamError) as caught:
            out.send(largest + b"x")
        out.send(b"after")
    assert caught.value.code == "MS-JOURNAL-008"
    assert [len(r.value or b"") for r in journal.read(disk.path, "t")] == [6, len(largest), 5]
    assert [len(r.value or b"") for r in journal.read(disk.path, "t", start={0: 2})] == [5]


def test_readers_see_what_was_flushed_while_the_producer_goes_on(disk: Disk) -> None:
    with journal.producer(disk.path, "t") as out:
        out.send("a")
        assert disk.values() == []
        out.flush()
        assert disk.values() == ["a"]
        out.send("b")
    assert disk.values() == ["a", "b"]
    with pytest.raises(MillstreamError) as caught:
        out.send("c")
    assert caught.value.code == "MS-JOURNAL-012"


def test_a_read_ends_where_the_topic_ended_when_it_began(disk: Disk) -> None:
    disk.produce("a", "b")
    read = journal.read(disk.path, "t")
    assert next(read).value == b"a"
    disk.produce("c")
    assert [r.value for r in read] == [b"b"]


def test_topics(tmp_path: Path) -> None:
    path = tmp_path / "j"
    assert journal.topics(path) == []
    journal.create(path, "likes", 2)
    journal.create(path, "a-b_c.d")
    (path / "stray").mkdir()
    assert journal.topics(path) == ["a-b_c.d", "likes"]
    assert json.loads((path / "likes" / "topic.json").read_text()) == {"format": 1, "partitions": 2}
    assert not [p for p in path.iterdir() if p.name.startswith(".")]


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(MillstreamError) as caught:
        call()
    return caught.value.code


def test_wrong_topics_are_refused(tmp_path: Path) -> None:
    journal.create(tmp_path, "likes")
    for name in ("", ".hidden", "a/b", "..", "ä", "a b"):
        assert code_of(partial(journal.create, tmp_path, name)) == "MS-JOURNAL-007"
    assert code_of(lambda: journal.create(tmp_path, "none", 0)) == "MS-JOURNAL-007"
    assert code_of(lambda: journal.create(tmp_path, "likes")) == "MS-JOURNAL-002"
    assert code_of(lambda: journal.read(tmp_path, "likes", partitions=[1])) == "MS-JOURNAL-010"
    assert code_of(lambda: journal.read(tmp_path, "likes", start="newest")) == "MS-JOURNAL-011"  # type: ignore[arg-type]
    assert code_of(lambda: journal.read(tmp_path, "likes", isolation="dirty")) == "MS-JOURNAL-011"  # type: ignore[arg-type]
    assert code_of(lambda: journal.producer(tmp_path, "likes").send("x", partition=1)) == "MS-JOURNAL-010"
    assert journal.topics(tmp_path) == ["likes"]


def test_a_missing_topic_is_told_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(MillstreamError) as caught:
        journal.read(tmp_path, "likes")
    assert caught.value.text() == (
        f'MS-JOURNAL-001: topic "likes" does not exist in journal {tmp_path}.\n'
        "  found: no topics\n"
        f"  hint:  create it: millstream journal create likes --path {tmp_path}"
    )
    journal.create(tmp_path, "likes")
    journal.create(tmp_path, "matches")
    for call in (journal.producer, journal.describe, journal.read):
        with pytest.raises(MillstreamError) as caught:
            call(tmp_path, "like")
        assert caught.value.text() == (
            f'MS-JOURNAL-001: topic "like" does not exist in journal {tmp_path}.\n'
            "  found: topics: likes, matches\n"
            "  hint:  did you mean likes?"
        )


@pytest.mark.parametrize("start", [-1, 3, 100])
def test_a_start_out_of_range_is_refused(disk: Disk, start: int) -> None:
    disk.produce("a", "b")
    with pytest.raises(MillstreamError) as caught:
        journal.read(disk.path, "t", start={0: start})
    assert caught.value.text() == (
        f'MS-JOURNAL-004: topic "t", partition 0 cannot be read from offset {start}.\n'
        "  found: offsets 0 to 2\n"
        "  hint:  start at one of these, or at earliest or latest."
    )


@pytest.mark.parametrize("text", ['{"format": 3, "partitions": 1}', "{", "[]", '{"format": 1, "partitions": 0}'])
def test_an_unknown_version_of_a_topic_is_refused(disk: Disk, text: str) -> None:
    (disk.path / "t" / "topic.json").write_text(text)
    assert code_of(lambda: journal.read(disk.path, "t")) == "MS-JOURNAL-006"
