"""Async functions: many rows are awaited at once, in the order of the rows, with a timeout and retries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

import millstream as ms
from millstream.plan.python import Awaits
from millstream.spark.python.caller import Caller, InFlow, Tally
from millstream.spark.python.failures import UserError
from tests.process.process_bench import Bench, at

SCHEMA = StructType([StructField("n", IntegerType())])


@dataclass
class Given:
    """A function as it would come to a worker."""

    function: Any

    def load(self) -> Any:
        return self.function


@dataclass
class Service:
    """Answers when enough calls are waiting, and counts those that wait at the same time."""

    together: int = 1
    waiting: int = 0
    most: int = 0
    asked: list[int] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, row: Any) -> Any:
        self.asked.append(row.n)
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        if self.waiting >= self.together:
            self.gate.set()
        await self.gate.wait()
        self.waiting -= 1
        return (row.n * 2,)


def called(function: Any, numbers: list[int], awaits: Awaits, on_error: str = "fail") -> tuple[list[Any], Caller]:
    caller = Caller("rating", "map", Given(function), ("n",), SCHEMA.json(), False, on_error, Tally(), awaits)  # type: ignore[arg-type]
    found = caller.called([pa.array(numbers, pa.int32())])
    return [row[0] for row in zip(*(column.to_pylist() for column in found.columns), strict=True)], caller


def test_rows_are_awaited_together_and_come_in_order() -> None:
    service = Service(together=8)
    found, _ = called(service, list(range(100)), Awaits(8, 10_000, 0))
    assert found == [n * 2 for n in range(100)]
    assert service.most == 8, "as many as may be, and no more"


async def never(row: Any) -> Any:
    await asyncio.Event().wait()


def test_a_call_that_takes_too_long_is_named() -> None:
    with pytest.raises(UserError, match=r'MS-PROCESS-101: step "rating" failed .*gave no answer within 0.01 s; row'):
        called(never, [1, 2, 3], Awaits(2, 10, 0))


class Flaky:
    def __init__(self, failures: int) -> None:
        self.left = failures

    async def __call__(self, row: Any) -> Any:
        self.left -= 1
        if self.left >= 0:
            raise ConnectionError("try again")
        return {"n": row.n}


def test_a_call_that_fails_is_repeated() -> None:
    assert called(Flaky(1), [7], Awaits(4, 1000, 1))[0] == [7]
    with pytest.raises(UserError, match="ConnectionError: try again"):
        called(Flaky(2), [7], Awaits(4, 1000, 1))


@dataclass
class Slow:
    """Answers for row 0 only when released."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, row: Any) -> Any:
        if row.n == 0:
            await self.gate.wait()
        if row.n == 99:
            raise ValueError("ninety-nine")
        return (row.n * 2,)


def unordered(function: Any, in_flight: int, on_error: str = "fail") -> Caller:
    awaits = Awaits(in_flight, 60_000, 0, ordered=False)
    return Caller("rating", "map", Given(function), ("n",), SCHEMA.json(), False, on_error, Tally(), awaits)  # type: ignore[arg-type]


def beside(numbers: list[int]) -> pa.RecordBatch:
    """Rows with a column that rides along."""
    return pa.record_batch({"r": pa.array([f"r{n}" for n in numbers], pa.string()), "n": pa.array(numbers, pa.int32())})


def test_in_any_order_nobody_waits_for_a_slow_row() -> None:
    slow = Slow()
    code = InFlow(unordered(slow, 4))
    found: list[Any] = []
    for numbers in ([0, 1, 2], [], [3, 4], []):
        found += code.run(beside(numbers))[1].to_pylist()
    while code.pending > 1:
        found += code.run(beside([]))[1].to_pylist()
    assert sorted(row["c1"] for row in found) == [2, 4, 6, 8], "all but the slow one"
    slow.gate.set()
    while code.pending:
        found += code.run(beside([]))[1].to_pylist()
    assert found[-1] == {"c0": "r0", "c1": 0}
    assert all(row["c0"] == f"r{row['c1'] // 2}" for row in found), "each beside what came with it"
    assert code.caller.unordered is not None
    assert not code.caller.unordered.batches


def test_in_any_order_no_more_are_in_flight_than_may_be() -> None:
    service = Service(together=3)
    caller = unordered(service, 3)
    batches = [beside(list(range(at, at + 10))) for at in range(0, 100, 10)]
    found = [row for batch in caller.of_batches(iter(batches)) for row in batch.to_pylist()]
    assert sorted(row["c1"] for row in found) == [n * 2 for n in range(100)]
    assert service.most == 3


def test_in_any_order_rows_that_fail_are_skipped_or_end_all() -> None:
    slow = Slow()
    slow.gate.set()
    code = InFlow(unordered(slow, 4, "skip"))
    skipped, found = code.run(beside([98, 99, 100]))
    rows = found.to_pylist()
    while code.pending:
        more, found = code.run(beside([]))
        skipped, rows = skipped + more, rows + found.to_pylist()
    assert (skipped, [row["c1"] for row in rows]) == (1, [196, 200])
    with pytest.raises(UserError, match="ValueError: ninety-nine"):
        list(unordered(slow, 4).of_batches(iter([beside([98, 99])])))


async def even(row: Any) -> Any:
    return ("odd",) if row.n % 2 else (row.n,)


def test_rows_that_fail_are_skipped() -> None:
    found, caller = called(even, list(range(10)), Awaits(3, 1000, 0), "skip")
    assert found == [0, 2, 4, 6, 8]
    assert isinstance(caller.skipped, Tally)
    assert caller.skipped.take() == 5


async def doubled(row: Any) -> Any:
    await asyncio.sleep(0)
    return row.k, row.v * 2


class Summed(ms.Process):
    output = "k STRING, v INT"
    total = ms.ValueState("INT")

    async def on_row(self, key: str, row: Any) -> Any:
        before = self.total.get(0)
        await asyncio.sleep(0)
        self.total.set(before + row.v)
        yield key, self.total.get()


def in_every_mode(bench: Bench, fill: Any, done: Callable[[], bool]) -> None:
    """20 rows in micro-batches, the same in a batch, 20 more in real time."""
    bench.feed(*(("a", v, at(0, v)) for v in range(20)))
    bench.run(fill, epoch=10)
    bench.run(fill, ms.batch())
    bench.feed(*(("a", v, at(0, v)) for v in range(20, 40)))
    run = bench.job(fill).start(ms.real_time("200 ms"), spark=bench.spark)
    for _ in range(600):
        if done() or run.poll(0.1):
            break
    run.stop()


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [True, False])
def test_in_every_mode(bench: Bench, ordered: bool) -> None:
    def fill(rows: ms.Stream, bench: Bench) -> None:
        rows.map_async(doubled, "k STRING, v INT", in_flight=5, ordered=ordered).to(bench.sink("out"))

    in_every_mode(bench, fill, lambda: len(bench.read()) == 60)
    found = [row["v"] for row in bench.read()]
    expected = [*range(0, 40, 2), *range(0, 40, 2), *range(40, 80, 2)]
    assert (found if ordered else sorted(found)) == (expected if ordered else sorted(expected))


@pytest.mark.slow
def test_a_process_in_every_mode(bench: Bench) -> None:
    def fill(rows: ms.Stream, bench: Bench) -> None:
        rows.key_by("k").process(Summed).to(bench.sink("out"))

    in_every_mode(bench, fill, lambda: len(bench.read()) == 60)
    sums = list(accumulate(range(40)))
    assert [row["v"] for row in bench.read()] == [*sums[:20], *sums[:20], *sums[20:]]
