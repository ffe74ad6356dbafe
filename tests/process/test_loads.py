"""Loads of rows as a worker runs them, without Spark: code that is made for a shape does what the long way does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

import millstream as ms
from millstream.spark.python.failures import UserError
from millstream.spark.python.rows import encode, from_stream
from millstream.spark.python.runner import Runner
from millstream.spark.python.shapes import arrow
from millstream.spark.python.spec import ProcessSpec, Variable
from millstream.spark.python.worker import AnyRunner, runner


def struct(**fields: DataType) -> StructType:
    return StructType([StructField(name, type_) for name, type_ in fields.items()])


LONG, INT, TEXT = LongType(), IntegerType(), StringType()
TOTAL = struct(n=LONG, sum=DoubleType(), text=TEXT)
OUTPUTS = (
    ("", struct(k=LONG, n=LONG, items=ArrayType(INT))),
    ("more", struct(text=TEXT)),
    ("_errors", struct(row=TEXT)),
)


class All(ms.Process):
    """Rows in every form, for both outputs, and state of every kind."""

    output = "k BIGINT"
    total = ms.ValueState("n BIGINT, sum DOUBLE, text STRING")
    last = ms.ListState("INT")
    counts = ms.MapState("STRING", "INT")

    def on_row(self, key: int, row: Any) -> Any:
        self.counts[str(row.v)] = self.counts.get(str(row.v), 0) + 1
        if row.v == 0:
            self.total.clear()
            return None
        self.last.append(row.v)
        return [(key, row.v, None)] if row.v == 1 else self.told(key, row.v)

    def told(self, key: int, v: int) -> Iterator[Any]:
        before = self.total.get()
        n = before.n + 1 if before else 1
        self.total.set((n, n / 2, None) if v % 2 else {"text": "even", "sum": n, "n": n})
        yield key, n, [v]
        yield {"items": None, "n": len(self.last), "k": key}
        if v > 5:
            yield self.out("more", text=f"{before}")
            yield [key, v, []]
        if v == 9:
            yield key, "nine", None


class Later(All):
    """The same, after a while that differs from row to row."""

    async def on_row(self, key: int, row: Any) -> Any:
        for _ in range((key * 7 + row.v) % 5):
            await asyncio.sleep(0)
        return super().on_row(key, row)


class Yielding(All):
    """The same, as an async generator."""

    async def on_row(self, key: int, row: Any) -> Any:
        for given in super().on_row(key, row) or ():
            await asyncio.sleep(0)
            yield given


@dataclass
class Given:
    process: type[ms.Process] = All

    def load(self) -> Any:
        return self.process


def spec(on_error: str) -> ProcessSpec:
    variables = (
        Variable("total", "value", TOTAL.json(), None, None),
        Variable("last", "list", INT.json(), None, None),
        Variable("counts", "map", INT.json(), TEXT.json(), None),
    )
    outputs = tuple((name, schema.json()) for name, schema in OUTPUTS)
    return ProcessSpec("all", ("k",), ("k", "v"), None, outputs, variables, on_error, Given())  # type: ignore[arg-type]


def load(random: Random, values: range) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Keys with their state, and their rows."""
    shape = spec("fail")
    type_ = struct(key=struct(k0=LONG), kind=INT, at=LONG, rows=INT, values=shape.values)
    for i, kind in enumerate((shape.variables[1].item, shape.variables[2].entry)):
        type_ = type_.add("lm"[i] + "0", ArrayType(kind))
    groups, rows = [], []
    for key in range(random.randrange(1, 9)):
        count = random.randrange(1, 6)
        rows += [(key, random.choice(values)) for _ in range(count)]
        kept: Any = None if random.random() < 0.3 else (3, None, [], [], random.choice([None, ((7, 3.5, "x"), None)]))
        full = kept is not None
        groups.append(((key,), 0, 0, count, kept, [(1, None)] * full, [("2", 5, None)] * full))
    schema = pa.schema(list(arrow(type_)))
    columns = [encode(column, part.type) for column, part in zip(zip(*groups, strict=True), schema, strict=True)]
    given = [
        pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), (pa.int64(), pa.int32()), strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema), pa.RecordBatch.from_arrays(given, names=["k", "v"])


def outcome(runner: AnyRunner, groups: pa.RecordBatch, rows: pa.RecordBatch) -> Any:
    skipped, found, changed = runner.run(0, 1_000_000, groups, rows)
    return skipped, from_stream(found).to_pylist(), from_stream(changed).to_pylist()


@pytest.mark.parametrize("seed", range(30))
def test_rows_that_nothing_is_undone_for_go_the_short_way_with_the_same_results(seed: int) -> None:
    short, long_ = (Runner(spec(on_error), lambda *of: []) for on_error in ("fail", "skip"))
    assert (short.plain, long_.plain) == (True, False)
    random = Random(seed)
    for _ in range(3):
        groups, rows = load(random, range(9))
        assert outcome(short, groups, rows) == outcome(long_, groups, rows)


@pytest.mark.parametrize("in_flight", [1, 3, 64])
@pytest.mark.parametrize("process", [Later, Yielding])
@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_keys_that_are_awaited_side_by_side_give_the_same(
    process: type[ms.Process], in_flight: int, on_error: str
) -> None:
    plain = Runner(spec(on_error), lambda *of: [])
    awaited = runner(replace(spec(on_error), shipped=Given(process), in_flight=in_flight), lambda *of: [])  # type: ignore[arg-type]
    random = Random(in_flight)
    for _ in range(20):
        groups, rows = load(random, range(9 if on_error == "fail" else 10))
        assert outcome(awaited, groups, rows) == outcome(plain, groups, rows)


class Crowd(All):
    """How many rows are worked on at the same time, in all and of a key."""

    in_all: ClassVar[list[int]] = []
    most = 0

    async def on_row(self, key: int, row: Any) -> Any:
        assert key not in self.in_all, "the rows of a key come one after the other"
        self.in_all.append(key)
        Crowd.most = max(Crowd.most, len(self.in_all))
        await asyncio.sleep(0)
        self.in_all.remove(key)
        if row.v == 9:
            raise ValueError("enough")


def test_as_many_keys_are_awaited_as_may_be_and_a_failure_ends_all() -> None:
    crowd = runner(replace(spec("fail"), shipped=Given(Crowd), in_flight=2), lambda *of: [])  # type: ignore[arg-type]
    for seed in range(10):
        crowd.run(0, 0, *load(Random(seed), range(9)))
    assert Crowd.most == 2
    with pytest.raises(
        UserError, match=r'step "all" failed in on_row\(\) at .*test_loads.py.*key 0: ValueError: enough'
    ):
        crowd.run(0, 0, *load(Random(1), range(9, 10)))


def test_a_failure_on_the_short_way_names_key_row_and_line() -> None:
    runner = Runner(spec("fail"), lambda *of: [])
    groups, rows = load(Random(1), range(9, 10))
    with pytest.raises(UserError) as raised:
        runner.run(0, 0, groups, rows)
    said = str(raised.value)
    assert said.startswith('MS-PROCESS-102: step "all" failed in on_row() at ')
    assert "test_loads.py:" in said
    assert "key 0: gave 'nine' for column n, which is of type BIGINT; row {'k': 0, 'v': 9}" in said
