"""Users' Python code: functions for every row, and processes with state. Their results do not depend on the order of
rows, which is the user's responsibility: an epoch's rows come in any order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import millstream as ms
from millstream.testing.trial import Topics
from tests.oracle.inputs import facts, items
from tests.oracle.jobs import job


def doubled(row: Any) -> dict[str, Any]:
    return {"c": row.c, "twice": None if row.v is None else row.v * 2, "at": row.at, "xs": row.xs}


def parts(row: Any) -> Iterator[tuple[Any, ...]]:
    for i, x in enumerate(row.xs or []):
        yield row.c, i, x


def inverse(row: Any) -> dict[str, Any]:
    return {"c": row.c, "v": row["v"], "inverse": 1 / row.v}


def shifted(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch({"c": batch["c"], "v": pc.add(batch["v"], 1000), "e": batch["e"]})


@job(facts=100, items=150)
def functions(job: ms.Job, topics: Topics) -> None:
    """Functions alone, one upon the other, upon and below other steps, over streams and tables; dead letters."""
    stream, table = facts(job, topics), items(job, topics)
    stream.map(doubled, "c INT, twice BIGINT, at TIMESTAMP, xs ARRAY<INT>").to(topics.sink("mapped"))
    stream.flat_map(parts, "c INT, i INT, x INT").filter(lambda row: row.i < 2).to(topics.sink("parts"))
    stream.explode("xs", as_="x").map(lambda row: (row.c, row.x), "c INT, x INT").where("x > 0").to(
        topics.sink("exploded")
    )
    stream.map(inverse, "c INT, v INT, inverse DOUBLE", on_error=topics.sink("bad")).to(topics.sink("inverted"))
    stream.filter(inverse_is_small, on_error="skip").select("c", "v").to(topics.sink("small"))
    stream.map(shifted, "c INT, v INT, e DECIMAL(8, 2)", batches=True).to(topics.sink("shifted"))
    kept = table.filter(lambda row: row.s is None or row.s > "w2")
    kept.select("c", "v", "s").to(topics.sink("kept", changelog=True))
    kept.map(lambda row: {"c": row.c, "k": (row.k or 0) % 2}, "c INT, k INT").group_by("c", "k").agg(n="count(*)").to(
        topics.sink("counted")
    )


@job(facts=150)
def one_after_the_other(job: ms.Job, topics: Topics) -> None:
    """Functions of every kind in one chain, which nothing else reads; the last one's failures are a result, too."""
    kept = facts(job, topics).filter(lambda row: row.c is None or row.c < 5).filter(even, batches=True)
    moved = kept.map(doubled, "c INT, twice BIGINT, at TIMESTAMP, xs ARRAY<INT>").map(
        same, "c INT, twice BIGINT, at TIMESTAMP, xs ARRAY<INT>", batches=True
    )
    moved.flat_map(shares, "c INT, i INT, share DOUBLE", on_error=topics.sink("bad")).to(topics.sink("shares"))


def even(batch: pa.RecordBatch) -> pa.Array:
    return pc.not_equal(pc.fill_null(batch["v"], 1), 2)


def same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(["xs", "at", "twice", "c"])


def shares(row: Any) -> Iterator[dict[str, Any]]:
    for i, x in enumerate(row.xs or []):
        yield {"c": row.c, "i": i, "share": row.twice / x if row.twice is not None else None}


def inverse_is_small(row: Any) -> bool:
    return bool(1 / row.v < 0.1)


class Count(ms.Process):
    """How many rows of its key have come; every third one also goes to its own output."""

    output = "k INT, n BIGINT"
    outputs = {"thirds": "k INT, n BIGINT, twice STRUCT<n: BIGINT, text: STRING>"}  # noqa: RUF012
    n = ms.ValueState("BIGINT")

    def on_row(self, key: Any, row: Any) -> Iterator[Any]:
        n = self.n.get(0) + 1
        self.n.set(n)
        yield {"k": key, "n": n}
        if n % 3 == 0:
            yield self.out("thirds", k=key, n=n, twice={"n": n * 2, "text": str(n)})


class Distinct(ms.Process):
    """Each value once, however large the map grows, and how many rows there were at last."""

    output = "c INT, v INT, s STRING, size INT, seen INT"
    values = ms.MapState("INT", "STRUCT<first: STRING, n: INT>")
    rows = ms.ListState("INT")
    total = ms.ValueState("n INT, e DECIMAL(20, 2)")

    def on_row(self, key: Any, row: Any) -> Iterator[Any]:
        self.rows.append(row.v if row.v is not None else -1)
        before = self.total.get()
        n = 1 if before is None else before.n + 1
        self.total.set({"n": n, "e": row.e})
        if n % 10 == 0:
            yield key.c, None, "ten", None, len(self.rows.get())
        if row.v is None:
            return
        if row.v not in self.values:
            self.values[row.v] = ("x", 1)
            yield key.c, row.v, None, None, None
            yield key.c, None, None, len(self.values), None
        else:
            old = self.values.get(row.v)
            self.values.put(row.v, {"first": old.first, "n": old.n + 1})


class Leaky(ms.Process):
    """Fails on some rows, after it has changed its state: nothing of that may stay."""

    output = "c INT, n BIGINT, m BIGINT"
    n = ms.ValueState("BIGINT")
    words = ms.MapState("STRING", "BIGINT")
    all = ms.ListState("BIGINT")

    def on_row(self, key: Any, row: Any) -> Iterator[Any]:
        self.n.set(self.n.get(0) + 1)
        self.words[str(row.s)] = self.words.get(str(row.s), 0) + 1
        self.all.append(1)
        yield key, self.n.get(), None
        if row.v is None or row.v % 5 == 0:
            raise ValueError(f"no good: {row.v}")
        yield key, sum(self.words.values()), len(self.all)


@job(facts=150, more=80)
def processes(job: ms.Job, topics: Topics) -> None:
    """Beside other operators in a stage, upon one another, below joins and aggregates; large state; failures."""
    stream, more = facts(job, topics), facts(job, topics, "more")
    counts = stream.key_by("k").process(Count)
    counts.to(topics.sink("counts"))
    counts.output("thirds").select("k", "n", text="twice.text").to(topics.sink("thirds"))
    counts.group_by("k").agg(n="max(n)").to(topics.sink("highest"))
    counts.key_by(half="n % 2").process(Count, name="again").to(topics.sink("again"))
    counts.as_("a").join(more.as_("b"), on="a.k = b.k AND a.n = b.v").select("a.n", "b.s").to(topics.sink("joined"))
    stream.union(more).key_by("c", all="1").process(Distinct).to(topics.sink("distinct"))
    stream.key_by("c").process(Leaky, on_error=topics.sink("letters")).to(topics.sink("leaky"))
    stream.group_by("c").agg(n="count(*)").to(topics.sink("plain"))


@job(facts=120)
def process_alone(job: ms.Job, topics: Topics) -> None:
    facts(job, topics).key_by(c="1", all="1").process(Distinct).to(topics.sink("out"))
