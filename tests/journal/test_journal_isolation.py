"""Committed and uncommitted reading, with a job's sink played by hand."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream import journal
from millstream.errors import MillstreamError
from millstream.journal.format import parse_segment
from millstream.journal.reader import Start
from millstream.journal.segments import Partition
from millstream.journal.uncommitted import OpenFiles
from tests.journal.conftest import Disk, NewTopic


def uncommitted(disk: Disk, start: Start = "earliest") -> journal.Reader:
    return journal.Reader(disk.path, "t", isolation="read_uncommitted", start=start)


def shown(records: Iterable[journal.Record]) -> list[tuple[str, int | None, bool]]:
    return [((r.value or b"").decode(), r.offset, r.committed) for r in records]


def test_uncommitted_rows_are_seen_at_once_and_not_again(disk: Disk) -> None:
    disk.produce("p")
    with uncommitted(disk) as reader, journal.Reader(disk.path, "t") as committed:
        assert shown(reader.poll()) == shown(committed.poll()) == [("p", 0, True)]
        file = disk.open_file(epoch=1)
        disk.write_open(file, "a", "b")
        assert shown(reader.poll()) == [("a", None, False), ("b", None, False)]
        disk.write_open(file, "c")
        assert shown(reader.poll()) == [("c", None, False)]
        assert committed.poll() == []
        disk.publish(file, base=1)
        assert reader.poll() == []
        assert shown(committed.poll()) == [("a", 1, True), ("b", 2, True), ("c", 3, True)]
        assert reader.positions() == {0: 4}


def test_rows_that_were_not_seen_before_publication_come_with_their_offsets(disk: Disk) -> None:
    with uncommitted(disk) as reader:
        file = disk.open_file(epoch=1)
        disk.write_open(file, "a")
        assert shown(reader.poll()) == [("a", None, False)]
        disk.write_open(file, "b", "c")
        disk.publish(file, base=0)
        assert shown(reader.poll()) == [("b", 1, True), ("c", 2, True)]


def test_a_half_written_row_is_waited_for(disk: Disk) -> None:
    file = disk.open_file(epoch=1)
    disk.write_open(file, "a", "b")
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with uncommitted(disk) as reader:
            before = [value for value, _, _ in shown(reader.poll())]
            file.write_bytes(whole)
            assert before + [value for value, _, _ in shown(reader.poll())] == ["a", "b"]


def test_an_epoch_that_is_repeated_may_be_seen_again_but_counts_once(disk: Disk) -> None:
    with uncommitted(disk) as reader:
        first, second = disk.open_file(epoch=1), disk.open_file(epoch=1, attempt=1)
        disk.write_open(first, "a")
        assert shown(reader.poll()) == [("a", None, False)]
        first.unlink()
        disk.write_open(second, "a", "b")
        assert shown(reader.poll()) == [("a", None, False), ("b", None, False)]
        disk.publish(second, base=0)
        assert reader.poll() == []
    assert disk.values() == ["a", "b"]


def test_two_attempts_are_told_apart_by_their_file(disk: Disk) -> None:
    with uncommitted(disk) as reader:
        first, second = disk.open_file(epoch=1), disk.open_file(epoch=1, attempt=1)
        disk.write_open(first, "a", "a2", "a3")
        reader.poll()
        disk.write_open(second, "b")
        reader.poll()
        disk.write_open(second, "c")
        disk.publish(second, base=0)
        assert shown(reader.poll()) == [("c", 1, True)]


def test_latest_passes_over_rows_that_are_open_now(disk: Disk) -> None:
    file = disk.open_file(epoch=1)
    disk.write_open(file, "old")
    with uncommitted(disk, start="latest") as reader:
        assert reader.poll() == []
        disk.write_open(file, "new")
        assert shown(reader.poll()) == [("new", None, False)]
        disk.publish(file, base=0)
        assert reader.poll() == []
        disk.produce("later")
        assert shown(reader.poll()) == [("later", 2, True)]


def test_a_read_to_the_end_includes_open_rows(disk: Disk) -> None:
    disk.produce("p")
    disk.write_open(disk.open_file(epoch=1, task=1), "b")
    disk.write_open(disk.open_file(epoch=1), "a")
    assert disk.values() == ["p"]
    assert disk.values("read_uncommitted") == ["p", "a", "b"]


def test_a_producer_begins_a_segment_after_a_published_one(disk: Disk) -> None:
    disk.produce("a")
    file = disk.open_file(epoch=1)
    disk.write_open(file, "b", "c")
    published = disk.publish(file, base=1)
    before = published.read_bytes()
    disk.produce("d")
    disk.produce("e")
    assert disk.values() == ["a", "b", "c", "d", "e"]
    assert published.read_bytes() == before
    assert [s.name[:20] for s in disk.segments()] == [f"{n:020d}" for n in (0, 1, 3)]


def test_segments_without_records_do_not_disturb(disk: Disk) -> None:
    disk.produce("torn away")
    (segment,) = disk.segments()
    segment.write_bytes(segment.read_bytes()[:16])  # a producer's segment without a record
    void, full = disk.open_file(epoch=1), disk.open_file(epoch=1, task=1)
    disk.write_open(void)
    disk.write_open(full, "a")
    disk.publish(void, base=0)
    with uncommitted(disk) as reader:
        reader.poll()
        disk.publish(full, base=0)
        assert reader.poll() == []
        disk.produce("b")
        assert shown(reader.poll()) == [("b", 1, True)]
    assert disk.values() == ["a", "b"]


def test_a_published_segment_without_records_shares_its_base(disk: Disk) -> None:
    disk.produce("a")
    void = disk.open_file(epoch=1)
    disk.write_open(void)
    disk.publish(void, base=1)
    disk.produce("b", "c")
    assert disk.values() == ["a", "b", "c"]
    disk.produce("d")
    assert disk.values() == ["a", "b", "c", "d"]
    assert journal.describe(disk.path, "t").partitions[0].segments == 1


def test_a_file_that_is_published_between_two_listings_is_not_read_twice(disk: Disk) -> None:
    file = disk.open_file(epoch=1)
    disk.write_open(file, "a", "b")
    where = Partition("t", 0, str(disk.folder()))
    follower = OpenFiles(where, bounded=False, from_end=False)
    out: list[journal.Record] = []
    follower.refresh()
    follower.read(out)
    published = disk.publish(file, base=0)
    segment = parse_segment(published.name)
    assert segment is not None
    follower.find([segment])
    assert follower.delivered(segment) == len(out) == 2
    follower.find([segment])
    assert follower.delivered(segment) == 0


def test_a_torn_tail_before_a_published_segment_is_passed_over_and_then_cut(disk: Disk) -> None:
    disk.produce("a", "torn")
    (segment,) = disk.segments()
    segment.write_bytes(segment.read_bytes()[:-2])
    file = disk.open_file(epoch=1)
    disk.write_open(file, "b")
    disk.publish(file, base=1)
    assert disk.values() == ["a", "b"]
    disk.produce("c")
    assert disk.values() == ["a", "b", "c"]


def test_a_torn_published_segment_is_corrupt(disk: Disk) -> None:
    file = disk.open_file(epoch=1)
    disk.write_open(file, "a", "b")
    published = disk.publish(file, base=0)
    published.write_bytes(published.read_bytes()[:-1])
    for call in (disk.values, lambda: disk.produce("x"), lambda: journal.describe(disk.path, "t")):
        with pytest.raises(MillstreamError) as caught:
            call()
        assert caught.value.code == "MS-JOURNAL-003"


steps = st.one_of(
    st.tuples(st.just("write"), st.integers(0, 2), st.integers(1, 3)),
    st.tuples(st.just("publish"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("abort"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("produce"), st.just(0), st.integers(1, 2)),
    st.tuples(st.just("poll"), st.just(0), st.just(0)),
    st.tuples(st.just("merge"), st.just(0), st.integers(2, 5)),
)


class Sink:
    """Three tasks that write, publish and abort on request, beside a producer."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.rows: dict[int, list[str]] = {0: [], 1: [], 2: []}  # open, by task
        self.files: dict[int, Path] = {}
        self.log: list[str] = []
        self.aborted: set[str] = set()
        self.segments: list[tuple[Path, int, int]] = []  # published, and settled when the reader has polled since
        self.settled = 0

    def step(self, number: int, what: str, task: int, count: int) -> None:
        names = [f"{number}.{i}" for i in range(count)]
        if what == "write":
            file = self.files.setdefault(task, self.disk.open_file(epoch=number, task=task))
            self.disk.write_open(file, *names)
            self.rows[task] += names
        elif what == "produce":
            self.disk.produce(*names)
            self.log += names
        elif what == "merge":
            self.merge(count)
        elif task in self.files:
            file, rows = self.files.pop(task), self.rows[task]
            self.rows[task] = []
            if what == "publish":
                base = len(self.log)
                self.log += rows
                self.segments.append((self.disk.publish(file, base), base, len(self.log)))
            else:
                file.unlink()
                self.aborted.update(rows)

    def merge(self, count: int) -> None:
        """The last settled ones, if they are neighbours."""
        first = max(0, self.settled - count)
        parts = self.segments[first : self.settled]
        if len(parts) > 1 and all(a[2] == b[1] for a, b in pairwise(parts)):
            end = parts[-1][2]
            merged = self.disk.merge([path for path, _, _ in parts], end)
            self.segments[first : self.settled] = [(merged, parts[0][1], end)]
            self.settled = first + 1


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=25))
def test_in_any_order_every_row_is_delivered_once(new_topic: NewTopic, plan: list[tuple[str, int, int]]) -> None:
    """Rows of an aborted epoch may be seen, before it is gone; all others are, and none twice."""
    with new_topic() as disk, uncommitted(disk) as reader:
        sink = Sink(disk)
        seen: list[journal.Record] = []
        for number, (what, task, count) in enumerate(plan):
            if what == "poll":
                seen += reader.poll()
                sink.settled = len(sink.segments)
            else:
                sink.step(number, what, task, count)
        while more := reader.poll():
            seen += more
        delivered = [(r.value or b"").decode() for r in seen]
        assert len(delivered) == len(set(delivered))
        assert set(delivered) - sink.aborted == {*sink.log, *chain.from_iterable(sink.rows.values())}
        for record in seen:
            if record.committed:
                assert record.offset is not None
                assert record.value == sink.log[record.offset].encode()
        assert disk.values() == sink.log
