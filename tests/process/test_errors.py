"""Users' code that fails: the step, the line, the key and the row are named, or the row is skipped, or sent away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream import journal
from tests.process.process_bench import Bench, at

MODES = (ms.available_now(), pytest.param(ms.batch(), marks=pytest.mark.slow))
FED = [("a", 1, at(0)), ("a", 0, at(1)), ("b", 2, at(2)), ("a", 4, at(3))]


class Divide(ms.Process):
    output = "k STRING, n INT, share DOUBLE"
    n = ms.ValueState("INT")

    def on_row(self, key: str, row: Any) -> Iterator[Any]:
        self.n.set(self.n.get(0) + 1)
        yield {"k": key, "n": self.n.get(), "share": 8 / row.v}


def share(row: Any) -> dict[str, Any]:
    return {"k": row.k, "share": 8 / row.v}


def divided(on_error: Any) -> Any:
    def fill(rows: ms.Stream, bench: Bench) -> None:
        chosen = bench.sink("bad") if on_error == "bad" else on_error
        rows.key_by("k").process(Divide, name="divide", on_error=chosen).to(bench.sink("out"))

    return fill


def shared(on_error: Any) -> Any:
    def fill(rows: ms.Stream, bench: Bench) -> None:
        chosen = bench.sink("bad") if on_error == "bad" else on_error
        rows.map(share, "k STRING, share DOUBLE", name="shares", on_error=chosen).to(bench.sink("out"))

    return fill


def in_batches(on_error: Any) -> Any:
    def shares(batch: pa.RecordBatch) -> pa.RecordBatch:
        found = [8 / v for v in batch["v"].to_pylist()]
        return pa.RecordBatch.from_pydict({"k": batch["k"], "share": found})

    def fill(rows: ms.Stream, bench: Bench) -> None:
        chosen = bench.sink("bad") if on_error == "bad" else on_error
        made = rows.map(shares, "k STRING, share DOUBLE", name="shares", on_error=chosen, batches=True)
        made.to(bench.sink("out"))

    return fill


def failed(bench: Bench, fill: Any, mode: ms.Mode | None = None) -> ms.MillstreamError:
    with pytest.raises(ms.MillstreamError) as caught:
        bench.run(fill, mode, epoch=100)
    assert caught.value.at is not None
    assert caught.value.at.file.endswith("test_errors.py")
    return caught.value


def line(text: str) -> int:
    """Of this file."""
    with open(__file__) as file:
        return next(i for i, found in enumerate(file, 1) if text in found and "line(" not in found)


@pytest.mark.parametrize("mode", MODES)
def test_a_failure_names_step_line_key_and_row(bench: Bench, mode: ms.Mode) -> None:
    bench.feed(*FED)
    error = failed(bench, divided("fail"), mode)
    assert error.code == "MS-PROCESS-101"
    assert 'step "divide" failed in on_row()' in error.message
    assert f"test_errors.py:{line('8 / row.v}')}, key 'a': ZeroDivisionError: division by zero" in error.message
    assert "row {'k': 'a', 'v': 0, 'at': datetime.datetime(2026, 1, 1, 0, 1" in error.message
    assert bench.read() == []


class Deaf(ms.Process):
    output = "k STRING"

    def on_row(self, key: str, row: Any) -> None:
        self.set_processing_timer(self.now)


def test_a_timer_that_nobody_hears_is_refused(bench: Bench) -> None:
    bench.feed(*FED)
    error = failed(bench, lambda rows, bench: rows.key_by("k").process(Deaf, name="deaf").to(bench.sink("out")))
    assert error.code == "MS-PROCESS-101"
    assert "Deaf sets a timer and has no on_processing_timer(self, key, at) that it could call" in error.message


@pytest.mark.parametrize("mode", MODES)
def test_a_failure_of_a_function_names_step_line_and_row(bench: Bench, mode: ms.Mode) -> None:
    bench.feed(*FED)
    error = failed(bench, shared("fail"), mode)
    assert error.code == "MS-PROCESS-101"
    assert f'step "shares" failed in map() at {__file__}:{line("return {")}: ZeroDivisionError' in error.message
    assert "division by zero; row {'k': 'a', 'v': 0" in error.message


@pytest.mark.slow
def test_skipped_rows_are_counted_and_leave_nothing(bench: Bench) -> None:
    bench.feed(*FED)
    run = bench.run(divided("skip"), epoch=100)
    assert sorted((row["k"], row["n"], row["share"]) for row in bench.read()) == [
        ("a", 1, 8.0),
        ("a", 2, 2.0),
        ("b", 1, 4.0),
    ]
    assert run.skipped() == {"divide": 1}


class Everything(ms.Process):
    """Writes state of all kinds, yields, sets timers, and only then fails."""

    output = "k STRING, said STRING"
    n = ms.ValueState("INT")
    all = ms.ListState("INT")
    by = ms.MapState("INT", "INT")

    def on_row(self, key: str, row: Any) -> Iterator[Any]:
        self.n.set(self.n.get(0) + 1)
        yield {"k": key, "said": f"{self.n.get()} {list(self.all)} {sorted(self.by.items())}"}
        self.set_timer(row.at + timedelta(minutes=1 if row.v else 2))
        if not row.v:
            self.delete_timer(row.at)
            self.all.clear()
            self.by.remove(1)
        self.all.append(row.v)
        self.by[abs(row.v)] = self.n.get()
        yield {"k": key, "said": str(8 // row.v)}

    def on_timer(self, key: str, at: datetime) -> Iterator[Any]:
        self.by[9] = 9
        self.all.append(at.minute)
        yield {"k": key, "said": f"{at:%M} {8 // (at.minute % 2)}"}


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_fails_late_leaves_nothing(bench: Bench, mode: ms.Mode) -> None:
    """Neither in its own epoch nor in a later one, of state, timers and outputs; of a timer that fails, as little."""
    bench.feed(("a", 1, at(1)), ("a", 0, at(2)), ("a", 2, at(2)), ("a", 0, at(2)), ("b", 0, at(3)), ("b", 0, at(3, 30)))
    bench.feed(("c", 1, at(3, 40)), ("c", 1, at(3, 40)), ("a", 4, at(4)), ("c", 8, at(30)))

    def fill(rows: ms.Stream, bench: Bench) -> None:
        rows.key_by("k").process(Everything, name="everything", on_error="skip").to(bench.sink("out"))

    bench.run(fill, mode, epoch=2)
    said = [row["said"] for row in bench.read() if row["k"] == "a"]
    first = ["1 [] []", "8", "2 [1] [(1, 1)]", "4"]
    # The timer of 0:02 fails, that of 0:03 does not.
    assert said == [*first, "03 8", "3 [1, 2, 3] [(1, 1), (2, 2), (9, 9)]", "2", "05 8"]
    assert not [row for row in bench.read() if row["k"] == "b"]


@pytest.mark.slow
@pytest.mark.parametrize("fill", [shared("skip"), in_batches("skip")])
def test_skipped_rows_of_a_function_are_counted(bench: Bench, fill: Any) -> None:
    bench.feed(*FED)
    run = bench.run(fill)
    assert [row["share"] for row in bench.read()] == [8.0, 4.0, 2.0]
    assert run.skipped() == {"shares": 1}


@pytest.mark.slow
@pytest.mark.parametrize("fill", [divided("bad"), shared("bad"), in_batches("bad")])
@pytest.mark.parametrize("mode", MODES)
def test_dead_letters(bench: Bench, fill: Any, mode: ms.Mode) -> None:
    bench.feed(*FED)
    bench.run(fill, mode)
    assert sorted(row["share"] for row in bench.read()) == [2.0, 4.0, 8.0]
    (letter,) = bench.read("bad")
    assert letter["step"] in ("divide", "shares")
    assert letter["error"] == "ZeroDivisionError: division by zero"
    assert "'v': 0" in letter["row"]
    assert "test_errors.py:" in letter["line"]
    assert letter.get("key") == ("'a'" if letter["step"] == "divide" else None)


class Wrong(ms.Process):
    """Does what the row says, all of it wrong."""

    output = "k STRING, n INT"
    outputs = {"alerts": "why STRING"}  # noqa: RUF012
    n = ms.ValueState("INT")
    m = ms.MapState("STRING", "DECIMAL(4, 2)")
    x = ms.ListState("TIMESTAMP")

    def __init__(self, what: str) -> None:
        self.what = what

    def on_row(self, key: str, row: Any) -> Any:
        given: list[Any] = []
        exec(compile(self.what, __file__, "exec"), {"self": self, "key": key, "row": row, "give": given})
        return given[0] if given and given[0] in (("a", 1), "text") else iter(given)

    def on_timer(self, key: str, at: datetime) -> None:
        """None is ever set."""


WRONG = {
    "give.append(7)": "gave 7, which is neither a dict nor a tuple",
    "give.append((key,))": "gave 1 values for 2 columns: k, n",
    "give.append({'k': key})": "gave a row without n; its columns are k, n",
    "give.append({'k': key, 'n': 1, 'm': 2})": "gave a row with m; its columns are k, n",
    "give.append((key, 'one'))": "gave 'one' for column n, which is of type INT",
    "give.append((key, 1 << 40))": "gave 1099511627776 for column n, which is of type INT",
    "give.append(('a', 1))": "returned ('a', 1): rows must be yielded, or returned as a list",
    "give.append('text')": "returned 'text': rows must be yielded, or returned as a list",
    "give.append(self.out('alarms', why='so'))": "gave a row for output 'alarms'; its outputs are: alerts",
    "give.append(self.out('alerts', why=3))": "gave 3 for column why, which is of type STRING",
    "self.n.set('one')": "state n cannot hold 'one': it is of type INT",
    "self.n.set(None)": "state n cannot hold None: it is of type INT",
    "self.m[3] = 1": "state m has no key 3: its keys are STRING",
    "self.m['a'] = 1.5": "state m cannot hold 1.5: it is of type DECIMAL(4,2)",
    "self.x.append('now')": "state x cannot hold 'now': it is of type TIMESTAMP",
    "self.set_timer(3)": "TypeError: a time must be a datetime, not 3",
}


@pytest.mark.slow
def test_wrong_rows_and_wrong_state(bench: Bench) -> None:
    """All in one job, with dead letters: each is reported."""
    bench.feed(("a", 1, at(0)))
    for i in range(len(WRONG)):
        journal.create(bench.path, f"bad{i}", 1)

    def fill(rows: ms.Stream, bench: Bench) -> None:
        parts = []
        for i, what in enumerate(WRONG):
            bad = bench.sink(f"bad{i}")
            parts.append(rows.key_by("k").process(Wrong(what), name=f"wrong{i}", on_error=bad))
        parts[0].union(*parts[1:]).to(bench.sink("out"))

    bench.run(fill)
    assert bench.read() == []
    said = [letter["error"] for i in range(len(WRONG)) for letter in bench.read(f"bad{i}")]
    assert said == list(WRONG.values())


def test_code_that_cannot_be_sent(bench: Bench) -> None:
    lock = threading.Lock()

    def fill(rows: ms.Stream, bench: Bench) -> None:
        rows.filter(lambda row: lock.locked()).to(bench.sink("out"))

    error = failed(bench, fill)
    assert error.code == "MS-PROCESS-009"
    assert "_thread.lock" in (error.found or "")
