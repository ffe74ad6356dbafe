"""Streams enriched from rows that do not change: no state, the same in batch, over restarts, wherever it stands."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.plan.lookup import Lookup
from millstream.plan.node import walk
from millstream.spark.lower.lookup import Known
from millstream.testing import Inputs, Runner
from millstream.testing.epochs import committed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BIDS = "auction BIGINT, price INT, at TIMESTAMP"
KINDS = "id INT, kind STRING, least INT"
SIDE: list[dict[str, Any]] = [
    {"id": 1, "kind": "book", "least": 0},
    {"id": 2, "kind": "ring", "least": 50},
    {"id": 2, "kind": "gold", "least": 0},
    {"id": None, "kind": "lost", "least": 0},
]


def job() -> ms.Job:
    job = ms.Job("bids")
    bids = job.stream(journal.source("bids"), BIDS).as_("b")
    kinds = job.static(journal.source("kinds"), KINDS).as_("k")
    on = "b.auction = k.id AND b.price >= k.least"
    bids.enrich(kinds, on=on).to(journal.sink("left"))
    known = bids.enrich(kinds, on=on, how="inner").select("b.auction", "b.price", "k.kind")
    known.to(journal.sink("inner"))
    known.group_by("kind").agg(n="count(*)", most="max(price)").to(journal.sink("totals"))
    # Behind an explode, where one row is many, and behind a union.
    copies = bids.explode("array(b.price, b.price + 10)", "offer").select(item="b.auction", offer="offer").as_("o")
    copies.enrich(kinds, on="o.item = k.id AND o.offer >= k.least").to(journal.sink("copies"))
    plain = bids.select(item="b.auction", offer="b.price")
    plain.union(plain.where("offer > 50")).as_("u").enrich(kinds, on="u.item = k.id").to(journal.sink("union"))
    return job


def random_bids(count: int) -> list[dict[str, Any]]:
    random = Random(7)
    return [{"auction": random.choice([1, 2, 3, None]), "price": random.randrange(100)} for _ in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("restart", [False, True])
def test_it_is_what_batch_says(millstream: Runner, restart: bool) -> None:
    rows = random_bids(60)
    whole = millstream.run(job(), {"bids": rows, "kinds": SIDE}, mode=ms.batch())
    parts: Inputs = {"bids": [rows[:20], rows[20:21], rows[21:]], "kinds": SIDE}
    found = millstream.run(job(), parts, restart_between=restart, parallelism=2)
    for sink in ("left", "inner", "totals", "copies", "union"):
        assert whole[sink].rows, sink
        assert found[sink].rows == whole[sink].rows, sink


def test_a_row_that_finds_nothing_has_nulls(millstream: Runner) -> None:
    found = millstream.run(job(), {"bids": [{"auction": 3, "price": 1}, {"auction": None}], "kinds": SIDE})
    assert [(row["auction"], row["kind"]) for row in found["left"].rows] == [(None, None), (3, None)]
    assert found["inner"].rows == []


def test_the_condition_is_asked_once(spark: SparkSession) -> None:
    """For each row that is found, where rows without a match are kept, too."""
    node = next(node for node in walk(job()._sinks) if isinstance(node, Lookup) and node.outer and node.residual)
    # By SQL: rows of Python's would be fetched from as many Python processes as Spark has slots.
    bids, kinds = (spark.sql(f"SELECT from_json('{{}}', '{schema}') AS r").select("r.*") for schema in (BIDS, KINDS))
    known = Known(node, bids, kinds)
    assert known.answers("`listed`", lambda name: f"`row`.`{name}`").count("`row`.`price`") == 1


def test_nothing_is_kept_as_state(millstream: Runner) -> None:
    alone = ms.Job("bids")
    bids = alone.stream(journal.source("bids"), BIDS).as_("b")
    bids.enrich(alone.static(journal.source("kinds"), KINDS).as_("k"), on="b.auction = k.id").to(journal.sink("out"))
    assert not alone.plan().stages
    assert len(millstream.run(alone, {"bids": [{"auction": 2}], "kinds": SIDE})["out"].rows) == 2


@pytest.mark.slow
def test_in_real_time_and_read_again_by_the_next_run(tmp_path: Path, spark: SparkSession) -> None:
    folder = str(tmp_path / "journal")
    for topic in ("bids", "kinds", "out"):
        journal.create(folder, topic)

    def send(topic: str, row: dict[str, Any]) -> None:
        with journal.producer(folder, topic) as producer:
            producer.send(row)

    def until(count: int) -> list[tuple[int, str]]:
        own = ms.Job("bids", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
        bids = own.stream(journal.source("bids", path=folder), BIDS).as_("b")
        kinds = own.static(journal.source("kinds", path=folder), KINDS).as_("k")
        bids.enrich(kinds, on="b.auction = k.id").select("b.auction", "k.kind").to(journal.sink("out", path=folder))
        run = own.start(ms.real_time("1 second"), spark=spark)
        try:
            while len(rows := list(journal.read(folder, "out"))) < count:
                run.poll(0.1)
        finally:
            run.stop()
        return [(row.json()["auction"], row.json().get("kind")) for row in rows]

    send("kinds", {"id": 1, "kind": "book"})
    send("bids", {"auction": 1})
    assert until(1) == [(1, "book")]
    send("kinds", {"id": 2, "kind": "ring"})
    send("bids", {"auction": 2})
    assert until(2) == [(1, "book"), (2, "ring")]
    assert committed(tmp_path / "checkpoint")


def test_a_static_that_is_not_there_is_told_of(tmp_path: Path, spark: SparkSession) -> None:
    journal.create(str(tmp_path), "bids")
    journal.create(str(tmp_path), "out")
    own = ms.Job("bids", checkpoint=str(tmp_path / "checkpoint"))
    bids = own.stream(journal.source("bids", path=str(tmp_path)), BIDS).as_("b")
    kinds = own.static(journal.source("kinds", path=str(tmp_path)), KINDS).as_("k")
    bids.enrich(kinds, on="b.auction = k.id").to(journal.sink("out", path=str(tmp_path)))
    with pytest.raises(ms.MillstreamError, match="MS-JOURNAL-001"):
        own.run(ms.available_now(), spark=spark)
