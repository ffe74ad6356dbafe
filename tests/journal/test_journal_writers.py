"""One writer per partition; and what it has acknowledged survives its death."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from millstream import journal
from millstream.errors import MillstreamError
from tests.journal.conftest import Disk, NewTopic, StartPython

HOLD = """
import sys
from millstream import journal
with journal.producer(sys.argv[1], "t") as out:
    out.send("held")
    out.flush()
    print("holding", flush=True)
    sys.stdin.read()
"""

TRY = """
import sys
from millstream import journal
from millstream.errors import MillstreamError
try:
    journal.producer(sys.argv[1], "t").send("mine")
except MillstreamError as error:
    print(error.code)
"""

# Numbers its records from 0 and says after every flush how many are safe. Never ends by itself.
PRODUCE = """
import sys
from millstream import journal
with journal.producer(sys.argv[1], "t", segment_bytes=4000) as out:
    sent = 0
    while True:
        for _ in range(1 + sent % 29):
            out.send(f"{sys.argv[2]} {sent}" + "." * (sent % 97))
            sent += 1
        out.flush()
        print(sent, flush=True)
"""


def refusal(disk: Disk) -> MillstreamError:
    with pytest.raises(MillstreamError) as caught, journal.producer(disk.path, "t") as out:
        out.send("x")
    return caught.value


def test_a_second_writer_in_another_process_is_refused(disk: Disk, python: StartPython) -> None:
    other = python(HOLD, disk.path)
    assert other.stdout.readline() == "holding\n"
    assert refusal(disk).text() == (
        'MS-JOURNAL-005: topic "t", partition 0 has another writer.\n'
        f"  found: the lock is held by process {other.pid}\n"
        "  hint:  a partition has one writer at a time: close that producer, or stop that job."
    )
    assert journal.describe(disk.path, "t").partitions[0].writer
    other.communicate("")
    assert not journal.describe(disk.path, "t").partitions[0].writer
    disk.produce("after")
    assert disk.values() == ["held", "after"]


def test_a_second_writer_in_this_process_is_refused(disk: Disk, python: StartPython) -> None:
    with journal.producer(disk.path, "t") as out:
        out.send("x")
        assert refusal(disk).found == "the lock is held by another producer of this process"
        # Looking must not lose the lock, as closing any descriptor of its file would.
        assert journal.describe(disk.path, "t").partitions[0].writer
        assert python(TRY, disk.path).communicate()[0] == "MS-JOURNAL-005\n"
    disk.produce("y")
    assert disk.values() == ["x", "y"]


def test_another_name_of_the_same_folder_is_the_same_partition(disk: Disk, tmp_path: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(disk.path)
    with journal.producer(disk.path, "t") as out:
        out.send("x")
        with pytest.raises(MillstreamError), journal.producer(alias, "t") as other:
            other.send("y")


def test_partitions_are_locked_one_by_one(new_topic: NewTopic) -> None:
    with (
        new_topic(2) as disk,
        journal.producer(disk.path, "t") as one,
        journal.producer(disk.path, "t") as other,
    ):
        one.send("x", partition=0)
        other.send("y", partition=1)
        assert [p.writer for p in journal.describe(disk.path, "t").partitions] == [True, True]
        with pytest.raises(MillstreamError):
            other.send("z", partition=0)


def test_a_forked_child_does_not_take_its_parents_lock_for_its_own(disk: Disk) -> None:
    with journal.producer(disk.path, "t") as out:
        out.send("x")
        child = os.fork()
        if child == 0:
            try:
                journal.producer(disk.path, "t").send("y")
            except MillstreamError as error:
                os._exit(5 if error.found == f"the lock is held by process {os.getppid()}" else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        assert journal.describe(disk.path, "t").partitions[0].writer


def test_threads_share_a_producer(disk: Disk) -> None:
    with journal.producer(disk.path, "t", durable=False) as out:

        def send(name: int) -> None:
            for i in range(500):
                out.send(f"{name} {i}")

        threads = [threading.Thread(target=send, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    values = disk.values()
    assert len(values) == 2000
    for name in range(4):
        assert [v for v in values if v.startswith(f"{name} ")] == [f"{name} {i}" for i in range(500)]


@pytest.mark.slow
def test_what_was_flushed_survives_kills_while_others_read(disk: Disk, python: StartPython) -> None:
    seen: list[journal.Record] = []
    stop = threading.Event()
    reading = threading.Thread(target=lambda: seen.extend(journal.read(disk.path, "t", follow=True, stop=stop)))
    reading.start()
    acknowledged = []
    for run in range(8):
        process = python(PRODUCE, disk.path, run)
        lines = [process.stdout.readline() for _ in range(5 + 7 * run)]
        process.kill()
        lines += process.communicate()[0].splitlines(keepends=True)
        acknowledged.append(max(int(line) for line in lines if line.endswith("\n")))
    found = list(journal.read(disk.path, "t"))
    stop.set()
    reading.join()
    assert [r.offset for r in found] == list(range(len(found)))
    assert seen == found[: len(seen)]
    values = [(r.value or b"").decode().rstrip(".") for r in found]
    for run, safe in enumerate(acknowledged):
        own = [v for v in values if v.startswith(f"{run} ")]
        assert own == [f"{run} {i}" for i in range(len(own))]
        assert len(own) >= safe > 0
    assert all(s.stat().st_size <= 4000 for s in disk.segments())
