"""Time is data: timers by event time, timers by the clock, state that expires."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

import millstream as ms
from millstream import journal
from millstream.testing import Runner
from tests.process.process_bench import Bench, at

COUNTED = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"


class Idle(ms.Process):
    """Says when a key has been silent for a minute, and how many rows it had."""

    output = "k STRING, n INT, at TIMESTAMP"
    n = ms.ValueState("INT")
    last = ms.ValueState("TIMESTAMP")

    def on_row(self, key: str, row: Any) -> None:
        self.n.set(self.n.get(0) + 1)
        if self.last.exists():
            self.delete_timer(self.last.get() + timedelta(minutes=1))
        self.last.set(max(row.at, self.last.get(row.at)))
        self.set_timer(self.last.get() + timedelta(minutes=1))

    def on_timer(self, key: str, at: datetime) -> Iterator[Any]:
        yield {"k": key, "n": self.n.get(), "at": at}
        self.n.clear()
        self.last.clear()


def idle(rows: ms.Stream, bench: Bench) -> None:
    rows.key_by("k").process(Idle, name="idle").to(bench.sink("out"))


def test_a_timer_fires_when_the_watermark_passes(bench: Bench) -> None:
    bench.feed(("a", 1, at(0)), ("a", 1, at(0, 30)), ("b", 1, at(1, 10)))
    bench.run(idle)
    assert bench.read() == [], "a's timer is at 1:30, the watermark at 1:10"
    bench.feed(("b", 1, at(1, 31)))
    bench.run(idle)
    assert bench.read() == [{"k": "a", "n": 2, "at": at(1, 30)}], "also after a restart; the first timer was deleted"
    bench.feed(("a", 1, at(2)), ("c", 1, at(9)))
    bench.run(idle)
    said = {(row["k"], row["n"], row["at"]) for row in bench.read()[1:]}
    assert said == {("b", 2, at(2, 31)), ("a", 1, at(3))}, "state was cleared"


class Back(ms.Process):
    """Gives each row a time that is some minutes earlier."""

    output = "k STRING, at TIMESTAMP"

    def on_row(self, key: str, row: Any) -> Iterator[Any]:
        yield key, row.at - timedelta(minutes=row.v)


def counted(rows: ms.Stream, bench: Bench) -> None:
    back = rows.key_by("k").process(Back, time="at").window(ms.tumbling("10 minutes"))
    back.group_by("k").agg(n="count(*)").final().select("window_start", "n").to(bench.sink("out"))


@pytest.mark.parametrize("restarted", [False, True])
def test_what_is_late_for_a_later_step_is_so_after_a_restart(bench: Bench, restarted: bool) -> None:
    """Such a step goes by the watermark of the epoch before, which the run that ran it knew."""
    bench.feed(("a", 0, at(5)), ("a", 0, at(35)), ("a", 0, at(45)))
    if restarted:
        bench.run(counted)
    bench.feed(("a", 30, at(50)), ("a", 0, at(59)), ("a", 0, at(59)))
    late = bench.run(counted).late()
    assert {row["window_start"]: row["n"] for row in bench.read()} == {at(0): 1, at(30): 1, at(40): 1}
    assert sum(late.values()) == 1, "20 minutes, when the watermark of the epoch before was at 35"


@pytest.mark.slow
def test_many_timers_in_one_epoch(bench: Bench) -> None:
    bench.feed(*((f"k{i}", 1, at(0, i % 60)) for i in range(5000)))
    bench.run(idle, epoch=10_000)
    bench.feed(("end", 1, at(50)))
    bench.run(idle)
    assert sorted(row["k"] for row in bench.read()) == sorted(f"k{i}" for i in range(5000))
    assert {row["n"] for row in bench.read()} == {1}


def test_batch_fires_all_timers_in_order(bench: Bench) -> None:
    bench.feed(("b", 1, at(1, 31)), ("a", 1, at(0, 30)), ("a", 1, at(0)), ("a", 1, at(5)))
    bench.run(idle, ms.batch())
    said = sorted((row["at"], row["k"], row["n"]) for row in bench.read())
    assert said == [(at(1, 30), "a", 2), (at(2, 31), "b", 1), (at(6), "a", 1)]


class Rounds(ms.Process):
    """Rings every ten minutes, five times after the first row; at once for what is past."""

    output = "k STRING, at TIMESTAMP"
    left = ms.ValueState("INT")

    def on_row(self, key: str, row: Any) -> None:
        if not self.left.exists():
            self.left.set(5)
            self.set_timer(row.at + timedelta(minutes=10))
        elif row.v == 0:
            self.set_timer(row.at - timedelta(minutes=40))

    def on_timer(self, key: str, at: datetime) -> Iterator[Any]:
        yield key, at
        self.left.set(self.left.get() - 1)
        if self.left.get() > 0:
            self.set_timer(at + timedelta(minutes=10))


def rounds(rows: ms.Stream, bench: Bench) -> None:
    rows.key_by("k").process(Rounds, name="rounds").to(bench.sink("out"))


ROUNDS = [("a", at(minute)) for minute in (10, 20, 30, 40, 50)]


@pytest.mark.slow
def test_a_timer_for_a_time_that_is_past_keeps_its_time_and_rings_at_once(bench: Bench) -> None:
    """Time moves by an hour in one epoch; the run ends when it has caught up."""
    bench.feed(("a", 1, at(0)), ("z", 1, at(59)))
    bench.run(rounds)
    assert [(row["k"], row["at"]) for row in bench.read()] == ROUNDS
    bench.feed(("a", 0, at(59)))
    bench.run(rounds)
    assert [(row["k"], row["at"]) for row in bench.read()][5:] == [("a", at(19))]
    bench.run(rounds, ms.batch())
    assert [(row["k"], row["at"]) for row in bench.read() if row["k"] == "a"][6:] == [*ROUNDS, ("a", at(19))]


class Again(ms.Process):
    output = "k STRING"

    def on_row(self, key: str, row: Any) -> None:
        self.set_timer(row.at)

    def on_timer(self, key: str, at: datetime) -> None:
        self.set_timer(at)


@pytest.mark.slow
def test_a_timer_that_would_ring_for_ever_is_refused(bench: Bench) -> None:
    bench.feed(("a", 1, at(0)), ("a", 2, at(1)))
    for mode in (ms.available_now(), ms.batch()):
        with pytest.raises(ms.MillstreamError, match="it would ring for ever"):
            bench.run(lambda rows, bench: rows.key_by("k").process(Again).to(bench.sink("out")), mode)


class Order(ms.Process):
    """Numbers the rows of a key as they come."""

    output = "k STRING, v INT, n INT"
    n = ms.ValueState("INT")

    def on_row(self, key: str, row: Any) -> Iterator[Any]:
        self.n.set(self.n.get(0) + 1)
        yield key, row.v, self.n.get()


def test_rows_of_a_key_come_in_the_order_of_their_time(bench: Bench) -> None:
    """Within an epoch, and in batch; those without a time come first."""
    bench.feed(*((key, v, at(v)) for v in (3, 1, 5, 2, 4) for key in "ab"), ("a", 0, None), ("b", 0, None))
    for mode in (ms.available_now(), ms.batch()):
        before = len(bench.read())
        bench.run(lambda rows, bench: rows.key_by("k").process(Order).to(bench.sink("out")), mode, epoch=100)
        said = sorted((row["k"], row["n"], row["v"]) for row in bench.read()[before:])
        assert said == [(key, v + 1, v) for key in "ab" for v in range(6)]


class Recent(ms.Process):
    """What is still remembered when a row comes."""

    output = "v INT, value INT, listed STRING, mapped STRING"
    value = ms.ValueState("INT", ttl="1 minute")
    items = ms.ListState("INT", ttl="1 minute")
    entries = ms.MapState("INT", "INT", ttl="1 minute")

    def on_row(self, key: str, row: Any) -> Iterator[Any]:
        mapped = ",".join(str(v) for v in sorted(self.entries))
        yield row.v, self.value.get(), ",".join(str(v) for v in self.items), mapped
        if row.v % 2:
            self.value.set(row.v)
        self.items.append(row.v)
        self.entries[row.v] = row.v


def recent(rows: ms.Stream, bench: Bench) -> None:
    rows.key_by("k").process(Recent, name="recent").to(bench.sink("out"))


MINUTES = [(0, 1), (30, 2), (59, 3), (80, 4), (119, 5), (300, 6)]
REMEMBERED = [
    {"v": 1, "value": None, "listed": "", "mapped": ""},
    {"v": 2, "value": 1, "listed": "1", "mapped": "1"},
    {"v": 3, "value": 1, "listed": "1,2", "mapped": "1,2"},
    {"v": 4, "value": 3, "listed": "2,3", "mapped": "2,3"},
    {"v": 5, "value": None, "listed": "4", "mapped": "4"},
    {"v": 6, "value": None, "listed": "", "mapped": ""},
]


@pytest.mark.slow
def test_state_expires_by_event_time(bench: Bench) -> None:
    """One row per epoch, then all in one: the same is remembered."""
    bench.spark = bench.spark.newSession()
    bench.spark.conf.set(COUNTED, "true")
    bench.feed(*(("a", v, at(*divmod(second, 60))) for second, v in MINUTES))
    run = bench.run(recent)
    assert bench.read() == REMEMBERED
    bench.feed(("b", 1, at(20)), ("c", 1, at(40)))
    run = bench.run(recent)
    assert (run.progress().state_rows or 0) > 0
    bench.feed(("z", 1, at(59)))
    run = bench.run(recent)
    assert run.progress().state_rows <= 12, "what has expired is gone, also of keys that never came again"


def test_state_expires_alike_within_an_epoch_and_in_batch(bench: Bench) -> None:
    bench.feed(*(("a", v, at(*divmod(second, 60))) for second, v in MINUTES))
    bench.run(recent, epoch=100)
    assert bench.read() == REMEMBERED
    bench.run(recent, ms.batch())
    assert bench.read()[len(REMEMBERED) :] == REMEMBERED


class Alarm(ms.Process):
    """Rings a moment after a row, by the clock."""

    output = "k STRING, late BOOLEAN"

    def on_row(self, key: str, row: Any) -> None:
        self.set_processing_timer(self.now + timedelta(milliseconds=300))
        self.set_processing_timer(self.now + timedelta(hours=300))

    def on_processing_timer(self, key: str, at: datetime) -> Iterator[Any]:
        yield key, self.now < at


def alarm(rows: ms.Stream, bench: Bench) -> None:
    rows.key_by("k").process(Alarm, name="alarm").to(bench.sink("out"))


def test_timers_by_the_clock_ring_when_no_rows_come(bench: Bench) -> None:
    bench.feed(("a", 1, at(0)), ("b", 1, at(0)))
    run = bench.job(alarm).start(ms.micro_batch("100 ms"), spark=bench.spark)
    rung: list[Any] = []
    for _ in range(300):
        rung = bench.read()
        if run.poll(0.2) or len(rung) == 2:
            break
    run.stop()
    assert sorted(row["k"] for row in rung) == ["a", "b"]
    assert not any(row["late"] for row in rung)


def test_timers_by_the_clock_do_not_keep_a_run_from_ending(bench: Bench) -> None:
    """Each run ends by itself; one that comes after the timer's time rings it."""
    bench.feed(("a", 1, at(0)))
    for _ in range(30):
        bench.run(alarm)
        if bench.read():
            break
    assert [row["k"] for row in bench.read()] == ["a"]


class Bell(ms.Process):
    """Rings half a minute after a row, by the clock."""

    output = "k STRING, what STRING, at TIMESTAMP"

    def on_row(self, key: str, row: Any) -> Iterator[Any]:
        yield key, "row", self.now
        self.set_processing_timer(self.now + timedelta(seconds=30))

    def on_processing_timer(self, key: str, at: datetime) -> Iterator[Any]:
        yield key, f"rung for {at:%H:%M:%S}", self.now


def test_timers_go_by_a_tests_clock_which_may_go_back(millstream: Runner) -> None:
    job = ms.Job("bell")
    rows = job.stream(journal.source("rows"), "k STRING")
    rows.key_by("k").process(Bell, name="bell").to(journal.sink("out"))
    clock = [f"2026-01-01T00:{time}Z" for time in ("00:10", "00:39", "00:20", "00:50", "02:00")]
    given = [[{"k": "a"}], [{"k": "b"}], [], [], []]
    said = millstream.run(job, {"rows": given}, clock=clock)["out"].epochs
    assert [[(row["k"], row["what"], row["at"][14:19]) for row in epoch] for epoch in said] == [
        [("a", "row", "00:10")],
        [("b", "row", "00:39")],
        [],
        [("a", "rung for 00:00:40", "00:50")],
        [("b", "rung for 00:01:09", "02:00")],
    ]


def test_timers_by_the_clock_leave_no_rows_unread(bench: Bench) -> None:
    bench.feed(*(("a", v, at(0)) for v in range(3)))
    bench.run(lambda rows, bench: rows.key_by("k").process(Bell, name="bell").to(bench.sink("out")))
    assert [row["what"] for row in bench.read()] == ["row"] * 3
