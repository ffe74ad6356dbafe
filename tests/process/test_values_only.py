"""Loads of keys that keep nothing but values, without Spark: a short way gives what the general one gives."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import TimestampType

import millstream as ms
from millstream.spark.python.failures import UserError
from millstream.spark.python.rows import encode
from millstream.spark.python.runner import Runner
from millstream.spark.python.shapes import arrow
from millstream.spark.python.spec import ProcessSpec, Variable
from millstream.spark.python.values_only import ValuesOnly, only_values
from millstream.spark.python.worker import runner
from tests.process.test_loads import INT, LONG, TEXT, TOTAL, Given, outcome, struct

OUTPUTS = (("", struct(k=LONG, n=LONG, seen=TEXT)), ("more", struct(text=TEXT)), ("_errors", struct(row=TEXT)))
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Values(ms.Process):
    """Sets, reads and clears values in every form in which they may be given."""

    output = "k BIGINT"
    total = ms.ValueState("n BIGINT, sum DOUBLE, text STRING")
    seen = ms.ValueState("STRING")
    since = ms.ValueState("TIMESTAMP")

    def on_row(self, key: int, row: Any) -> Any:
        if row.v == 0:
            self.total.clear()
            self.seen.clear()
            return None
        return [(key, row.v, None)] if row.v == 1 else self.told(key, row.v)

    def told(self, key: int, v: int) -> Iterator[Any]:
        before = self.total.get()
        n = before.n + 1 if before else 1
        if v != 2:
            self.total.set((n, None, None) if v % 2 else {"text": "even", "sum": n, "n": n})
        if v == 3:
            self.since.set(NOON.replace(tzinfo=None))
        yield key, n, self.seen.get("never")
        self.seen.set(f"{v} at {self.since.get()}")
        if v > 5:
            yield self.out("more", text=f"{before}")
            yield {"seen": None, "k": key, "n": v}
        if v == 9:
            self.seen.set(9)


class Timed(Values):
    def on_timer(self, key: int, at: datetime) -> Any:
        yield key, 0, f"{at}"


def spec(on_error: str = "fail", process: type[ms.Process] = Values) -> ProcessSpec:
    types = {"total": TOTAL, "seen": TEXT, "since": TimestampType()}
    variables = tuple(Variable(name, "value", type_.json(), None, None) for name, type_ in types.items())
    outputs = tuple((name, schema.json()) for name, schema in OUTPUTS)
    return ProcessSpec("values", ("k",), ("k", "v"), None, outputs, variables, on_error, Given(process))  # type: ignore[arg-type]


def load(
    random: Random, values: range, times: list[int] | None = None, kind: int = 0
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Keys with their state, and their rows. `times`: the timers of the first; `kind`: what the last is there for."""
    type_ = struct(key=struct(k0=LONG), kind=INT, at=LONG, rows=INT, values=spec().values)
    groups, rows = [], []
    keys = random.randrange(1, 9)
    for key in range(keys):
        count = random.randrange(1, 6)
        rows += [(key, random.choice(values)) for _ in range(count)]
        items = [((7, 3.5, "x"), None), ("then", None), (NOON, None)]
        kept: Any = [random.choice([None, item]) for item in items]
        kept = (0, None, times if times and key == 0 else [], [], *kept) if any(kept) or times else None
        groups.append(((key,), kind if key == keys - 1 else 0, 1, 0 if kind and key == keys - 1 else count, kept))
    schema = pa.schema(list(arrow(type_)))
    columns = [encode(column, part.type) for column, part in zip(zip(*groups, strict=True), schema, strict=True)]
    kinds = (pa.int64(), pa.int32())
    given = [pa.array(column, of) for column, of in zip(zip(*rows, strict=True), kinds, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema), pa.RecordBatch.from_arrays(given, names=["k", "v"])


@pytest.mark.parametrize("seed", range(30))
def test_the_short_way_gives_what_the_general_ones_give(seed: int) -> None:
    short = runner(spec(), lambda *of: [])
    assert isinstance(short, ValuesOnly)
    assert short.simple
    others = Runner(spec(), lambda *of: []), Runner(spec("skip"), lambda *of: [])
    random = Random(seed)
    for _ in range(3):
        groups, rows = load(random, range(9))
        assert only_values(groups)
        found = outcome(short, groups, rows)
        assert [outcome(other, groups, rows) for other in others] == [found, found]


@pytest.mark.parametrize(("times", "kind"), [([5_000_000], 0), (None, 2)])
def test_a_load_with_timers_goes_the_general_way(times: list[int] | None, kind: int) -> None:
    short, general = runner(spec(), lambda *of: []), Runner(spec(), lambda *of: [])
    groups, rows = load(Random(2), range(1, 9), times, kind)
    assert not only_values(groups)
    assert outcome(short, groups, rows) == outcome(general, groups, rows)


def test_a_process_that_may_set_timers_or_must_undo_goes_the_general_way() -> None:
    for other in (spec(process=Timed), spec("skip"), spec("dead_letter")):
        found = runner(other, lambda *of: [])
        assert isinstance(found, ValuesOnly)
        assert not found.simple


def test_a_failure_on_the_short_way_names_key_row_and_line() -> None:
    groups, rows = load(Random(1), range(9, 10))
    with pytest.raises(UserError) as raised:
        runner(spec(), lambda *of: []).run(0, 0, groups, rows)
    said = str(raised.value)
    assert said.startswith('MS-PROCESS-103: step "values" failed in ')
    assert "test_values_only.py:" in said
    assert "key 0: state seen cannot hold 9: it is of type STRING; row {'k': 0, 'v': 9}" in said


def test_rows_without_any_change_leave_state_alone() -> None:
    groups, rows = load(Random(3), range(1, 2))
    _, found, changed = outcome(runner(spec(), lambda *of: []), groups, rows)
    assert len(found) == rows.num_rows
    assert changed == []
