"""Processes that see the rows of many keys at once, with state as columns: they do what those by row do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType

import millstream as ms
from millstream.spark.python.failures import UserError
from millstream.spark.python.rows import encode, from_stream
from millstream.spark.python.shapes import arrow
from millstream.spark.python.spec import ProcessSpec, Variable
from millstream.spark.python.worker import AnyRunner, runner
from tests.process.process_bench import Bench, at
from tests.process.test_loads import struct

LONG, INT = LongType(), IntegerType()


class ByRow(ms.Process):
    output = "k STRING, n BIGINT, total DOUBLE"
    n = ms.ValueState("BIGINT")
    total = ms.ValueState("DOUBLE")

    def on_row(self, key: str, row: Any) -> Iterator[Any]:
        if row.v == 0:
            self.n.clear()
            self.total.clear()
        else:
            self.n.set(self.n.get(0) + 1)
            self.total.set(self.total.get(0.0) + row.v)
        yield key, self.n.get(), self.total.get()


class ByBatch(ms.Process):
    """The same, and of each key only the last row; a 0 forgets what was there before the batch."""

    output = "k STRING, n BIGINT, total DOUBLE"
    n = ms.ValueState("BIGINT")
    total = ms.ValueState("DOUBLE")

    def on_batch(self, batch: ms.KeyedBatch) -> pa.RecordBatch:
        n, total = self.n.column().to_pylist(), self.total.column().to_pylist()
        for place, v in zip(batch.of.to_pylist(), batch.rows["v"].to_pylist(), strict=True):
            n[place] = None if v == 0 else (n[place] or 0) + 1
            total[place] = None if v == 0 else (total[place] or 0) + v
        self.n.set_column(n)
        self.total.set_column(pa.array(total, pa.float64()))
        return pa.record_batch({"k": batch.keys["k"], "n": self.n.column(), "total": self.total.column()})


@dataclass
class Given:
    process: Any

    def load(self) -> Any:
        return self.process


def made(process: Any) -> AnyRunner:
    variables = (
        Variable("n", "value", LONG.json(), None, None),
        Variable("total", "value", DoubleType().json(), None, None),
    )
    row = struct(k=StringType(), n=LONG, total=DoubleType())
    outputs = (("", row.json()), ("_errors", struct(row=StringType()).json()))
    batches = hasattr(process, "on_batch") and process.on_batch is not ms.Process.on_batch
    spec = ProcessSpec("all", ("k",), ("k", "v"), None, outputs, variables, "fail", Given(process), 0, batches)  # type: ignore[arg-type]
    return runner(spec, lambda *of: [])


def load(spec: ProcessSpec, random: Random, kept: dict[str, Any]) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Keys with their state, and their rows."""
    type_ = struct(key=struct(k0=StringType()), kind=INT, at=LONG, rows=INT, values=spec.values)
    keys = random.sample("abcdefgh", random.randrange(1, 8))
    counts = [random.randrange(1, 5) for _ in keys]
    groups = [((key,), 0, 0, count, kept.get(key)) for key, count in zip(keys, counts, strict=True)]
    schema = pa.schema(list(arrow(type_)))
    columns = [encode(column, part.type) for column, part in zip(zip(*groups, strict=True), schema, strict=True)]
    rows = [(key, random.randrange(4)) for key, count in zip(keys, counts, strict=True) for _ in range(count)]
    parts = [
        pa.array(part, kind) for part, kind in zip(zip(*rows, strict=True), (pa.string(), pa.int32()), strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema), pa.RecordBatch.from_arrays(parts, names=["c0", "c1"])


@pytest.mark.parametrize("seed", range(10))
def test_state_and_results_are_those_of_the_code_by_row(seed: int) -> None:
    by_row, by_batch = made(ByRow), made(ByBatch)
    random = Random(seed)
    kept: dict[str, Any] = dict.fromkeys("abcdefgh")
    for _ in range(10):
        groups, rows = load(by_row.spec, random, kept)
        after = []
        last = []
        for each in (by_row, by_batch):
            _, found, changed = each.run(0, 1_000_000, groups, rows)
            last.append({row["_o0"]["k"]: row["_o0"] for row in from_stream(found).to_pylist()})
            after.append(kept | changes(groups, from_stream(changed)))
        assert last[0] == last[1]
        assert after[0] == after[1]
        kept = after[0]


def changes(groups: pa.RecordBatch, changed: pa.RecordBatch) -> dict[str, Any]:
    keys = groups["key"].field(0).to_pylist()
    return {keys[change["group"]]: change["values"] for change in changed.to_pylist()}


class Wrong(ms.Process):
    output = "k STRING"
    n = ms.ValueState("BIGINT")
    total = ms.ValueState("DOUBLE")

    def __init__(self, what: str) -> None:
        self.what = what

    def on_batch(self, batch: ms.KeyedBatch) -> Any:
        if self.what == "short":
            self.n.set_column([])
        if self.what == "text":
            self.n.set_column(pc.cast(batch.keys["k"], pa.string()))
        if self.what == "get":
            self.n.get()
        return [1] if self.what == "list" else batch.keys


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("short", "MS-PROCESS-103: .* state n was given 0 values for"),
        ("text", "MS-PROCESS-103: .* state n cannot hold .* it is of type BIGINT"),
        ("get", "MS-PROCESS-101: .*RuntimeError: state can only be used in on_row"),
        ("list", r"MS-PROCESS-102: .* gave \[1\], which is no Arrow batch"),
        ("columns", "MS-PROCESS-102: .* gave a row without n, total; its columns are k, n, total"),
    ],
)
def test_what_does_not_fit_is_named(what: str, said: str) -> None:
    process = Wrong(what)
    wrong = made(process)
    with pytest.raises(UserError, match=said) as caught:
        wrong.run(0, 0, *load(wrong.spec, Random(1), {}))
    assert 'step "all" failed in on_batch() at ' in str(caught.value)


@pytest.mark.slow
def test_in_every_mode(bench: Bench) -> None:
    def fill(rows: ms.Stream, bench: Bench) -> None:
        rows.key_by("k").process(ByBatch).to(bench.sink("out"))

    def last() -> dict[str, Any]:
        return {row["k"]: (row["n"], row["total"]) for row in bench.read()}

    bench.feed(*(("ab"[v % 2], v, at(0)) for v in range(1, 21)))
    bench.run(fill, ms.batch())
    assert last() == {"a": (10, 110.0), "b": (10, 100.0)}
    bench.run(fill, epoch=7)
    assert last() == {"a": (10, 110.0), "b": (10, 100.0)}
    bench.feed(("a", 1, at(1)), ("c", 5, at(1)))
    run = bench.job(fill).start(ms.real_time("200 ms"), spark=bench.spark)
    for _ in range(600):
        if "c" in last() or run.poll(0.1):
            break
    run.stop()
    assert last() == {"a": (11, 111.0), "b": (10, 100.0), "c": (1, 5.0)}
