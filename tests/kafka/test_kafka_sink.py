"""Kafka topics as sinks: each record once to readers of committed rows, at once to readers of uncommitted ones."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Message

import millstream as ms
from millstream import kafka
from millstream.runtime.failures import transient
from tests.kafka.broker import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run


def table(messages: list[Message]) -> dict[str, Any]:
    """The last value of each key, without those that are deleted."""
    found = {message.key().decode(): message.value() for message in messages}
    return {key: json.loads(value) for key, value in found.items() if value is not None}


def test_appends_upserts_and_changes_through_restarts(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic = topics.create("in", 2)
    every, counts, changes = (topics.create(name, 2) for name in ("every", "counts", "changes"))

    def run(mode: ms.Mode) -> None:
        job = ms.Job("count", checkpoint=str(tmp_path / "checkpoint"))
        rows = job.stream(kafka.source(topic, max_rows_per_epoch=30), "k STRING, n INT", name="in")
        rows.where("n % 2 = 0").to(kafka.sink(every, key="k"))
        counted = rows.group_by("k").agg(n="count(*)", total="sum(n)").where("n < 25")
        counted.to(kafka.sink(counts))
        counted.to(kafka.sink(changes, changelog=True))
        job.run(mode, spark=spark)

    sent = [{"k": f"k{n % 7}", "n": n} for n in range(120)]
    topics.send(topic, *sent[:70])
    run(ms.available_now())
    topics.send(topic, *sent[70:])
    run(ms.available_now())
    assert sorted(row["n"] for row in topics.rows(every)) == list(range(0, 120, 2))
    assert {message.key() for message in topics.read(every)} == {f'{{"k":"k{n}"}}'.encode() for n in range(7)}
    expected = {f"k{k}": {"k": f"k{k}", "n": len(range(k, 120, 7)), "total": sum(range(k, 120, 7))} for k in range(7)}
    assert {row["k"]: row for row in table(topics.read(counts)).values()} == expected
    # Deleted once a count has reached 25: with tombstones that stay until the topic is compacted.
    topics.send(topic, *({"k": "k0", "n": 0} for _ in range(10)))
    run(ms.available_now())
    assert {row["k"] for row in table(topics.read(counts)).values()} == {f"k{n}" for n in range(1, 7)}
    sums: dict[str, int] = {}
    for row in topics.rows(changes):
        op = row.pop("op")
        sums[json.dumps(row)] = sums.get(json.dumps(row), 0) + (1 if op == "insert" else -1)
    assert sorted(text for text, weight in sums.items() if weight) == sorted(
        json.dumps(row) for k, row in expected.items() if k != "k0"
    )
    assert set(sums.values()) <= {0, 1}


def test_sinks_whose_names_differ_in_punctuation(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    """Each has its own transactions: if they were shared, one would throw away what the other has open."""
    topic = topics.create("in", 1)
    outs = [topics.create(name, 1) for name in ("totals-eu", "totals_eu", "totals_x2d_eu")]
    topics.send(topic, *({"n": n} for n in range(10)))
    job = ms.Job("alike", checkpoint=str(tmp_path / "checkpoint"))
    rows = job.stream(kafka.source(topic, max_rows_per_epoch=4), "n INT", name="in")
    for out in outs:
        rows.to(kafka.sink(out))
    job.run(ms.available_now(), spark=spark)
    for out in outs:
        assert sorted(row["n"] for row in topics.rows(out)) == list(range(10))


def test_batch_writes_once(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic, out = topics.create("in"), topics.create("out")
    topics.send(topic, *({"n": n} for n in range(20)))
    job = ms.Job("batch")
    job.stream(kafka.source(topic), "n INT", name="in").where("n < 10").to(kafka.sink(out))
    job.run(ms.batch(), spark=spark)
    assert sorted(row["n"] for row in topics.rows(out)) == list(range(10))


def test_real_time_is_seen_uncommitted_at_once_and_committed_after_the_epoch(
    topics: Topics, spark: SparkSession, tmp_path: Path
) -> None:
    topic, out = topics.create("in", 1), topics.create("out", 1)
    job = ms.Job("live", checkpoint=str(tmp_path / "checkpoint"))
    job.stream(kafka.source(topic), "n INT", name="in").select(n="n * 2").to(kafka.sink(out))
    run = job.start(ms.real_time("20 seconds"), spark=spark)
    try:
        topics.send(topic, {"n": 1})
        wait(lambda: topics.rows(out, "read_uncommitted") == [{"n": 2}], run)
        took = []
        for n in range(2, 6):
            topics.send(topic, {"n": n})
            sent = time.monotonic()
            wait(lambda n=n: topics.rows(out, "read_uncommitted")[-1:] == [{"n": 2 * n}], run)
            took.append(time.monotonic() - sent)
        # The epoch lasts 20 seconds: what is seen much earlier is seen before its end.
        assert min(took) < 2
        assert topics.rows(out) == []
        wait(lambda: topics.rows(out) == [{"n": 2 * n} for n in range(1, 6)], run)
    finally:
        run.stop()


def test_what_was_open_when_a_run_stops_holds_nobody_up(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic, out = topics.create("in", 1), topics.create("out", 1)

    def start(every: str) -> Run:
        job = ms.Job("stopped", checkpoint=str(tmp_path / "checkpoint"))
        job.stream(kafka.source(topic), "n INT", name="in").to(kafka.sink(out))
        return job.start(ms.real_time(every), spark=spark)

    run = start("10 minutes")
    try:
        topics.send(topic, {"n": 1})
        wait(lambda: topics.rows(out, "read_uncommitted") == [{"n": 1}], run)
    finally:
        run.stop()
    topics.send(out, {"n": 100})
    assert topics.rows(out) == [{"n": 100}]
    run = start("500 ms")
    try:
        wait(lambda: topics.rows(out) == [{"n": 100}, {"n": 1}], run)
    finally:
        run.stop()


def test_upserts_come_back_as_a_table(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    """From table to compacted topic to table, with deletes, in two jobs that run in real time."""
    topic, middle, out = topics.create("in", 1), topics.create("middle", 1, compacted=True), topics.create("out", 1)
    one = ms.Job("one", checkpoint=str(tmp_path / "one"))
    people = one.table(kafka.source(topic, key_format="text"), "id INT, age INT", key="id", name="people")
    people.where("age < 30").to(kafka.sink(middle))
    other = ms.Job("other", checkpoint=str(tmp_path / "other"))
    young = other.table(kafka.source(middle), "id INT, age INT", key="id", name="young")
    young.group_by(all_="1").agg(n="count(*)", total="sum(age)").to(kafka.sink(out))
    runs = [job.start(ms.real_time("500 ms"), spark=spark) for job in (one, other)]

    def person(id_: int, age: int) -> None:
        topics.send(topic, {"id": id_, "age": age}, key=lambda row: str(row["id"]))

    try:
        for n in range(4):
            person(n, 20 + n)
        wait(lambda: topics.rows(out)[-1:] == [{"all_": 1, "n": 4, "total": 86}], *runs)
        person(3, 30)
        topics.delete(topic, "0")
        person(1, 29)
        wait(lambda: topics.rows(out)[-1:] == [{"all_": 1, "n": 2, "total": 51}], *runs)
    finally:
        for run in runs:
            run.stop()


def wait(condition: Any, *runs: Run, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        for run in runs:
            assert not run.poll(0.02)
        assert time.monotonic() < deadline, "nothing happens any more"


@pytest.mark.parametrize("timeout", ["2 hours"])
def test_brokers_that_refuse_are_quoted(topics: Topics, spark: SparkSession, tmp_path: Path, timeout: str) -> None:
    topic, out = topics.create("in", 1), topics.create("out", 1)
    topics.send(topic, {"n": 1})
    job = ms.Job("refused", checkpoint=str(tmp_path / "checkpoint"))
    job.stream(kafka.source(topic), "n INT", name="in").to(kafka.sink(out, transaction_timeout=timeout))
    with pytest.raises(ms.MillstreamError) as caught:
        job.run(ms.available_now(), spark=spark)
    assert caught.value.code == "MS-KAFKA-010"
    assert "timeout" in caught.value.message
    assert not transient(caught.value, job.plan())
