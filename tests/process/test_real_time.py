"""Python code in real time: rows do not wait for the epoch's end, and no barrier overtakes one that is in Python."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.testing.oracle import check_real_time
from millstream.testing.trial import Case, Topics
from tests.oracle.inputs import facts, make
from tests.process.process_bench import Bench, at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run

pytestmark = pytest.mark.slow
PATIENCE = 90
LONG = ms.real_time("10 minutes")
SHORT = ms.real_time("200 ms")


def until(done: Callable[[], bool], run: Run) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, "nothing happens any more"
        assert not run.poll(0.02)


def seen(bench: Bench, topic: str = "out") -> list[Any]:
    """Also what is not committed."""
    return [record.json() for record in journal.read(bench.path, topic, isolation="read_uncommitted")]


class Count(ms.Process):
    output = "k STRING, n INT"
    n = ms.ValueState("INT")

    def on_row(self, key: str, row: Any) -> Iterator[Any]:
        self.n.set(self.n.get(0) + 1)
        yield key, self.n.get()


def through_python(rows: ms.Stream, bench: Bench) -> None:
    """Through three Python processes one after the other, in two tasks."""
    mapped = rows.map(lambda row: (row.k, row.v * 2), "k STRING, v INT")
    doubled = mapped.flat_map(lambda row: [row, row], "k STRING, v INT")
    doubled.key_by("k").process(Count, name="count").filter(lambda row: row.n % 2 == 0).to(bench.sink("out"))


def test_rows_do_not_wait_for_a_barrier(bench: Bench) -> None:
    run = bench.job(through_python).start(LONG, spark=bench.spark)
    try:
        for n in range(1, 4):
            bench.feed(("a", n, at(0)))
            until(lambda n=n: len(seen(bench)) == n, run)  # type: ignore[misc]
        assert seen(bench)[-1] == {"k": "a", "n": 6}
        assert bench.read() == [], "no epoch is over"
    finally:
        run.stop()


def test_state_goes_on_in_another_mode(bench: Bench) -> None:
    bench.feed(("a", 1, at(0)))
    bench.run(through_python)
    bench.feed(("a", 1, at(1)), ("b", 1, at(1)))
    run = bench.job(through_python).start(SHORT, spark=bench.spark)
    try:
        until(lambda: len(bench.read()) == 3, run)
    finally:
        run.stop()
    bench.feed(("a", 1, at(2)))
    bench.run(through_python)
    assert sorted((row["k"], row["n"]) for row in bench.read()) == [("a", 2), ("a", 4), ("a", 6), ("b", 2)]


def slow(row: Any) -> Any:
    """Takes a while for some rows, so that barriers come while it runs."""
    if row.v is not None and row.v % 4 == 0:
        time.sleep(0.002)
    return row.c, row.v


def slowly(topics: Topics) -> ms.Job:
    job = ms.Job("slowly")
    rows = facts(job, topics).map(slow, "c INT, v INT")
    rows.to(topics.sink("mapped"))
    rows.filter(lambda row: slow(row)[1] is not None).key_by("c").process(Tally).to(topics.sink("tallied"))
    return job


class Tally(ms.Process):
    output = "c INT, n INT"
    rows = ms.ListState("INT")

    def on_row(self, key: int, row: Any) -> Iterator[Any]:
        slow(row)
        self.rows.append(row.v)
        yield key, len(self.rows.get())


def test_no_barrier_overtakes_a_row(seeds: Any, spark: SparkSession, tmp_path: Path) -> None:
    """Barriers come as often as they may, and each must cut all sinks and all state at the same row."""
    case = Case(slowly, make(seeds, facts=400), seeds[-1], runs=2)
    report = check_real_time(case, tmp_path, spark, every="100 ms")
    assert report.epochs > 4
    assert all(report.records.values())


class Idle(ms.Process):
    """Says when a key has been silent for a minute."""

    output = "k STRING, at TIMESTAMP"
    last = ms.ValueState("TIMESTAMP")

    def on_row(self, key: str, row: Any) -> None:
        if self.last.exists():
            self.delete_timer(self.last.get() + timedelta(minutes=1))
        self.last.set(row.at)
        self.set_timer(row.at + timedelta(minutes=1))

    def on_timer(self, key: str, at: datetime) -> Iterator[Any]:
        yield key, at


def test_timers_fire_between_checkpoints(bench: Bench) -> None:
    run = bench.job(lambda rows, bench: rows.key_by("k").process(Idle).to(bench.sink("out"))).start(
        LONG, spark=bench.spark
    )
    try:
        bench.feed(("a", 1, at(0)), ("a", 1, at(0, 30)), ("b", 1, at(1, 10)))
        bench.feed(("c", 1, at(1, 40)))
        until(lambda: len(seen(bench)) == 1, run)
        bench.feed(("c", 1, at(5)))
        until(lambda: len(seen(bench)) == 2, run)
        assert sorted((row["k"], row["at"]) for row in seen(bench)) == [("a", at(1, 30)), ("b", at(2, 10))]
    finally:
        run.stop()


class Alarm(ms.Process):
    """Rings a moment after a row, by the clock."""

    output = "k STRING, late BOOLEAN"

    def on_row(self, key: str, row: Any) -> None:
        self.set_processing_timer(self.now + timedelta(milliseconds=300))
        self.set_processing_timer(self.now + timedelta(hours=300))

    def on_processing_timer(self, key: str, at: datetime) -> Iterator[Any]:
        yield key, self.now < at


def test_timers_by_the_clock_fire_when_no_rows_come(bench: Bench) -> None:
    def alarm(rows: ms.Stream, bench: Bench) -> None:
        rows.key_by("k").process(Alarm, name="alarm").to(bench.sink("out"))

    run = bench.job(alarm).start(LONG, spark=bench.spark)
    try:
        bench.feed(("a", 1, at(0)), ("b", 1, at(0)))
        until(lambda: len(seen(bench)) == 2, run)
        assert sorted(row["k"] for row in seen(bench)) == ["a", "b"]
        assert not any(row["late"] for row in seen(bench))
    finally:
        run.stop()
    bench.run(alarm)
    run = bench.job(alarm).start(SHORT, spark=bench.spark)
    try:
        until(lambda: len(bench.read()) == 2, run)
    finally:
        run.stop()


def share(row: Any) -> Any:
    return row.k, 8 / row.v


def test_failures_are_skipped_or_sent_away(bench: Bench) -> None:
    def fill(rows: ms.Stream, bench: Bench) -> None:
        rows.map(share, "k STRING, share DOUBLE", on_error="skip", name="skipping").to(bench.sink("out"))
        rows.map(share, "k STRING, share DOUBLE", on_error=bench.sink("bad")).to(bench.sink("other"))

    bench.feed(("a", 1, at(0)), ("a", 0, at(1)), ("b", 2, at(2)), ("b", 0, at(3)), ("a", 4, at(3)))
    run = bench.job(fill).start(SHORT, spark=bench.spark)
    try:
        until(lambda: len(bench.read()) == 3 and len(bench.read("bad")) == 2, run)
        until(lambda: run.skipped() == {"skipping": 2}, run)
    finally:
        run.stop()
    assert [row["share"] for row in bench.read("other")] == [8.0, 4.0, 2.0]


def test_a_failure_names_the_step_and_nothing_is_lost(bench: Bench) -> None:
    def fill(rows: ms.Stream, bench: Bench) -> None:
        rows.map(share, "k STRING, share DOUBLE", name="sharing").to(bench.sink("out"))

    bench.feed(("a", 1, at(0)), ("a", 0, at(1)))
    with pytest.raises(ms.MillstreamError) as raised:
        bench.job(fill).run(SHORT, spark=bench.spark)
    assert raised.value.code == "MS-PROCESS-101"
    assert 'step "sharing"' in raised.value.message
    assert "ZeroDivisionError" in str(raised.value)


@pytest.mark.parametrize("where", ["function", "process"])
def test_a_python_process_that_dies_is_started_again(where: str, bench: Bench, tmp_path: Path) -> None:
    """In the middle of an epoch: all rows since the last barrier are read again, and each counts once."""
    marker = tmp_path / "died"

    def die(row: Any) -> None:
        if row.v == 7 and not marker.exists():
            marker.touch()
            os._exit(1)

    def mapped(row: Any) -> Any:
        if where == "function":
            die(row)
        return row.k, row.v

    class Counting(Count):
        def on_row(self, key: str, row: Any) -> Iterator[Any]:
            if where == "process":
                die(row)
            return super().on_row(key, row)

    def fill(rows: ms.Stream, bench: Bench) -> None:
        rows.map(mapped, "k STRING, v INT").key_by("k").process(Counting, name="count").to(bench.sink("out"))

    run = bench.job(fill).start(SHORT, restarts=ms.fixed_delay(3, "100 ms"), spark=bench.spark)
    try:
        for part in (range(5), range(5, 10)):
            bench.feed(*(("a", v, at(0)) for v in part))
            until(lambda part=part: len(bench.read()) == part.stop, run)  # type: ignore[misc]
    finally:
        run.stop()
    assert [failure.error.code for failure in run.failures] == ["MS-PROCESS-105"]
    assert [row["n"] for row in bench.read()] == list(range(1, 11))


def stuck(row: Any) -> Any:
    time.sleep(600)
    return row.k, row.v


class Stuck(ms.Process):
    output = "k STRING, v INT"

    def on_row(self, key: str, row: Any) -> Iterator[Any]:
        yield stuck(row)


def function(rows: ms.Stream, bench: Bench) -> None:
    rows.map(stuck, "k STRING, v INT", name="asleep").to(bench.sink("out"))


def process(rows: ms.Stream, bench: Bench) -> None:
    rows.key_by("k").process(Stuck, name="asleep").to(bench.sink("out"))


@pytest.mark.parametrize("fill", [function, process])
def test_code_that_does_not_come_back_is_named(fill: Callable[[ms.Stream, Bench], None], bench: Bench) -> None:
    own = bench.spark.newSession()
    own.conf.set("spark.millstream.barriers.patience", "4000")
    bench.feed(("a", 1, at(0)))
    with pytest.raises(ms.MillstreamError) as raised:
        bench.job(fill).run(SHORT, spark=own)
    assert raised.value.code == "MS-RUN-014"
    assert 'The Python code of step "asleep" has not come back for' in raised.value.message


def test_without_barriers_python_code_is_refused_or_runs_in_micro_batches(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    own = bench.spark.newSession()
    own.conf.set("spark.millstream.barriers", "false")
    bench.feed(("a", 1, at(0)))
    with pytest.raises(ms.MillstreamError) as raised:
        bench.job(through_python).run(SHORT, spark=own)
    assert raised.value.code == "MS-PROCESS-008"
    assert raised.value.found == "the session has spark.millstream.barriers = false"
    run = bench.job(through_python).start(spark=own)
    try:
        until(lambda: len(bench.read()) == 1, run)
    finally:
        run.stop()
    assert 'job "bench" runs in micro-batches, every 1 s: step "' in caplog.text
