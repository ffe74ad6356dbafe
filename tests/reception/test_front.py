"""The front alone: nothing is acknowledged before it is durable or appended twice, and the journal stays small."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream import journal
from millstream.errors import MillstreamError
from millstream.journal.topics import describe
from millstream.reception import Front, Limits, Message
from millstream.reception import pressure as pressures
from millstream.reception.memory import Memory
from tests.crash.process import until
from tests.reception.memory_queue import MemoryQueue, receiving

TOPIC = "memory.orders"


def numbered(start: int, end: int) -> list[Message]:
    return [Message(str(n).encode(), id=f"m{n}") for n in range(start, end)]


def front(queue: MemoryQueue, folder: Path, **limits: int) -> Front:
    return Front("orders", queue, str(folder), TOPIC, Limits(**limits))


def received(folder: Path) -> list[int]:
    return [int(record.value or 0) for record in journal.read(folder, TOPIC)]


def test_a_lost_acknowledgement_is_recognised(tmp_path: Path) -> None:
    queue = MemoryQueue()
    queue.lose_acknowledgements = 3
    queue.put(*numbered(0, 5000))
    made = front(queue, tmp_path)
    with receiving(made):
        until(lambda: len(queue.acknowledged) == 5000)
    assert received(tmp_path) == list(range(5000))
    assert made.figures.duplicates > 0
    assert made.figures.redelivered >= made.figures.duplicates
    assert made.figures.received == 5000 + made.figures.duplicates
    assert made.figures.acknowledged == 5000


def test_another_start_recognises_what_an_earlier_one_received(tmp_path: Path) -> None:
    queue = MemoryQueue()
    queue.put(*numbered(0, 100))
    with receiving(front(queue, tmp_path)):
        until(lambda: len(queue.acknowledged) == 100)
    queue.put(*numbered(50, 150))
    again = front(queue, tmp_path)
    with receiving(again):
        until(lambda: len(queue.acknowledged) == 200)
    assert received(tmp_path) == list(range(150))
    assert again.figures.duplicates == 50


def test_messages_without_an_id_are_kept_each_time(tmp_path: Path) -> None:
    queue = MemoryQueue()
    queue.lose_acknowledgements = 1
    queue.put(Message(b"1"))
    with receiving(front(queue, tmp_path)):
        until(lambda: len(queue.acknowledged) == 1)
    assert received(tmp_path) == [1, 1]


def test_memory_is_bounded_and_forgets_the_oldest(tmp_path: Path) -> None:
    memory = Memory(10)
    for n in range(1000):
        memory.add(f"m{n}", None)
    assert len(memory) == 10
    assert [memory.knows(f"m{n}") for n in (0, 989, 990, 999)] == [False, False, True, True]


def test_several_receivers_share_one_memory(tmp_path: Path) -> None:
    queue = MemoryQueue()
    queue.lose_acknowledgements = 5
    queue.put(*numbered(0, 20_000))
    made = front(queue, tmp_path, receivers=3)
    with receiving(made):
        until(lambda: len(queue.acknowledged) == 20_000)
    assert sorted(received(tmp_path)) == list(range(20_000))
    assert len(describe(tmp_path, TOPIC).partitions) == 3


def test_the_journal_does_not_grow_with_the_age_of_a_job(tmp_path: Path) -> None:
    """Thousands of small epochs, with a new start now and then; ids are recognised from long before the cut."""
    queue, epochs, per_epoch = MemoryQueue(), 3000, 4
    largest, last = 0, 0
    for life in range(3):
        made = front(queue, tmp_path, segment_bytes=4096, remember=500)
        with receiving(made):
            for epoch in range(epochs // 3):
                last = (life * epochs // 3 + epoch + 1) * per_epoch
                queue.put(*numbered(last - per_epoch, last))
                until(lambda last=last: len(queue.acknowledged) >= last, every=0.0005)  # type: ignore[misc]
                made.cut({0: last})
                if epoch % 50 == 0:
                    largest = max(largest, describe(tmp_path, TOPIC).partitions[0].bytes)
        queue.acknowledged = queue.acknowledged[:last]
    info = describe(tmp_path, TOPIC).partitions[0]
    assert info.end == last
    assert largest < 3 * 4096
    assert info.segments <= 2
    again = front(queue, tmp_path, remember=500)
    queue.put(*numbered(last - 400, last + 1))
    with receiving(again):
        until(lambda: len(queue.acknowledged) == last + 401)
    assert again.figures.duplicates == 400
    assert describe(tmp_path, TOPIC).partitions[0].end == last + 1


def test_what_is_not_committed_is_not_cut(tmp_path: Path) -> None:
    queue = MemoryQueue()
    made = front(queue, tmp_path, segment_bytes=512)
    with receiving(made):
        for n in range(40):
            queue.put(*numbered(n, n + 1))
            until(lambda n=n: len(queue.acknowledged) > n, every=0.001)  # type: ignore[misc]
        made.cut({0: 20})
        start = describe(tmp_path, TOPIC).partitions[0].start
        made.cut({})
    assert 0 < start <= 20
    assert received(tmp_path) == list(range(start, 40))


def test_too_large_a_message_is_named_and_stays_in_the_queue(tmp_path: Path) -> None:
    queue = MemoryQueue()
    queue.put(*numbered(0, 3), Message(b"x" * 101, id="big"), *numbered(3, 5))
    with receiving(front(queue, tmp_path, message_bytes=100)) as failures:
        until(lambda: bool(failures))
    (error,) = failures
    assert isinstance(error, MillstreamError)
    assert error.code == "MS-RECEIVE-001"
    assert 'message "big"' in error.message
    assert received(tmp_path) == [0, 1, 2]
    assert [message.id for message in queue.waiting] == ["big", "m3", "m4"]


def test_a_job_that_is_behind_holds_the_reception_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pressures, "LOOK", 0.0)
    queue = MemoryQueue()
    made = front(queue, tmp_path, buffer_bytes=2000, segment_bytes=500)
    with receiving(made):
        for n in range(200):
            queue.put(*numbered(n, n + 1))
            until(lambda n=n: not queue.waiting or made._pressure.reason is not None, every=0.001)  # type: ignore[misc]
        until(lambda: made._pressure.reason is not None)
        taken = len(queue.acknowledged)
        assert 0 < taken < 200
        made.cut({0: taken})
        until(lambda: len(queue.acknowledged) > taken)
        until(lambda: free(made, queue))
    assert len(queue.acknowledged) == 200


def test_what_is_committed_makes_room_for_a_run_that_ends(tmp_path: Path) -> None:
    """The run before has left more than may wait."""
    queue = MemoryQueue()
    queue.put(*numbered(0, 100))
    before = front(queue, tmp_path, segment_bytes=500)
    before.prepare()
    before.catch_up()
    queue.put(*numbered(100, 110))
    following = front(queue, tmp_path, buffer_bytes=2000, segment_bytes=500)
    following.prepare()
    following.catch_up({0: 10})
    assert len(queue.acknowledged) == 100
    again = front(queue, tmp_path, buffer_bytes=2000, segment_bytes=500)
    again.prepare()
    again.catch_up({0: 100})
    assert len(queue.acknowledged) == 110
    assert received(tmp_path)[-10:] == list(range(100, 110))


def free(made: Front, queue: MemoryQueue) -> bool:
    """The job commits what it has; whether all was received."""
    made.cut({0: len(queue.acknowledged)})
    return len(queue.acknowledged) == 200


def test_a_short_disk_holds_the_reception_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pressures, "LOOK", 0.0)
    queue = MemoryQueue()
    made = front(queue, tmp_path)
    made._pressure.free = 1 << 60
    queue.put(*numbered(0, 10))
    with receiving(made):
        until(lambda: made._pressure.reason is not None)
        assert not queue.acknowledged
        made._pressure.free = 0
        until(lambda: len(queue.acknowledged) == 10)
    assert received(tmp_path) == list(range(10))


def test_a_full_disk_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = threading.Event()
    full.set()
    write: Callable[[int, bytes, int], int] = os.pwrite

    def pwrite(fd: int, data: bytes, at: int) -> int:
        if full.is_set() and len(data) > 16:
            tried.set()
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, data, at)

    tried = threading.Event()
    monkeypatch.setattr(os, "pwrite", pwrite)
    queue = MemoryQueue()
    queue.put(*numbered(0, 100))
    with receiving(front(queue, tmp_path)):
        assert tried.wait(60)
        assert not queue.acknowledged
        full.clear()
        until(lambda: len(queue.acknowledged) == 100)
    assert received(tmp_path) == list(range(100))


def test_a_batch_acknowledges_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    queue = MemoryQueue()
    queue.put(*numbered(0, 10))
    for _ in range(2):
        front(queue, tmp_path).copy()
        assert received(tmp_path) == list(range(10))
        assert len(queue.waiting) == 10
    with receiving(front(queue, tmp_path)):
        until(lambda: len(queue.acknowledged) == 10)
    assert received(tmp_path) == list(range(10))
    with pytest.raises(MillstreamError, match="MS-RECEIVE-002"):
        front(queue, tmp_path).copy()
