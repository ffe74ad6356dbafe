"""Tailing a topic."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Generator
from pathlib import Path

from millstream import journal
from millstream.journal import segments
from millstream.journal.reader import Start
from tests.journal.conftest import Disk, NewTopic


def test_follow_waits_for_what_is_to_come(disk: Disk) -> None:
    disk.produce("a")
    records = journal.read(disk.path, "t", follow=True)
    assert next(records).value == b"a"
    with journal.producer(disk.path, "t", durable=False, segment_bytes=1) as out:
        for value in ("b", "c", "d"):  # each in its own segment
            out.send(value)
            out.flush()
            record = next(records)
            assert (record.value, record.committed) == (value.encode(), True)
    assert isinstance(records, Generator)
    records.close()


def test_latest_sees_only_what_is_to_come(disk: Disk) -> None:
    disk.produce("a", "b", segment_bytes=1)
    with journal.Reader(disk.path, "t", start="latest") as reader:
        assert reader.poll() == []
        assert reader.positions() == {0: 2}
        disk.produce("c")
        assert [(r.offset, r.value) for r in reader.poll()] == [(2, b"c")]
        assert reader.positions() == {0: 3}


def test_a_reader_of_an_empty_topic_sees_its_first_record(new_topic: NewTopic) -> None:
    starts: tuple[Start, ...] = ("earliest", "latest", {0: 0})
    for start in starts:
        with new_topic() as disk, journal.Reader(disk.path, "t", start=start) as reader:
            assert reader.poll() == []
            disk.produce("a")
            assert [r.value for r in reader.poll(60)] == [b"a"]


def test_an_event_ends_it(disk: Disk) -> None:
    stop = threading.Event()
    got: queue.Queue[bytes | None] = queue.Queue()

    def follow() -> None:
        for record in journal.read(disk.path, "t", follow=True, stop=stop):
            got.put(record.value)
        got.put(None)

    thread = threading.Thread(target=follow)
    thread.start()
    disk.produce("a", "b")
    assert [got.get(), got.get()] == [b"a", b"b"]
    stop.set()
    assert got.get() is None
    thread.join()


def test_a_callable_ends_it_after_any_record(disk: Disk) -> None:
    disk.produce("a", "b", "c")
    seen: list[bytes | None] = []
    for record in journal.read(disk.path, "t", follow=True, stop=lambda: len(seen) >= 2):
        seen.append(record.value)
    assert seen == [b"a", b"b"]


def test_a_folder_that_changed_within_the_same_tick_is_listed_again(tmp_path: Path) -> None:
    watch = segments.FolderWatch(str(tmp_path))
    now = time.time_ns()
    os.utime(tmp_path, ns=(now, now + 10**12))  # as fresh as can be: it may change without showing
    assert [watch.changed(), watch.changed()] == [True, True]
    os.utime(tmp_path, ns=(now, now - 10**12))
    assert [watch.changed(), watch.changed()] == [True, False]
    os.utime(tmp_path, ns=(now, now - 10**11))
    assert watch.changed()


def test_partitions_take_turns(new_topic: NewTopic) -> None:
    with new_topic(2) as disk, journal.producer(disk.path, "t", durable=False) as out:
        size = segments.CHUNK // 4
        for _ in range(20):
            out.send(bytes(size), partition=0)
        out.send("other", partition=1)
        out.flush()
        with journal.Reader(disk.path, "t") as reader:
            assert {r.partition for r in reader.poll()} == {0, 1}
            assert sum(len(reader.poll()) for _ in range(20)) > 0


def test_reading_across_many_segments_and_chunks(disk: Disk) -> None:
    with journal.producer(disk.path, "t", durable=False, segment_bytes=3 << 20) as out:
        for i in range(60_000):
            out.send(b"%d" % i + bytes(i % 200))
    assert len(disk.segments()) >= 3
    with journal.Reader(disk.path, "t", bounded=True) as reader:
        offset = 0
        while records := reader.poll():
            for record in records:
                assert record.offset == offset
                assert int((record.value or b"").rstrip(b"\0")) == offset
                offset += 1
    assert offset == 60_000
    assert next(journal.read(disk.path, "t", start={0: 59_999})).offset == 59_999
