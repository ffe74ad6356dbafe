"""Kafka topics as streams and tables: what is sent by another client is what a job reads."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal, kafka
from tests.kafka.broker import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run


class Jobs:
    """Jobs that write to their own journal."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder = folder
        self.spark = spark
        self.path = folder / "journal"

    def job(self, name: str = "read") -> ms.Job:
        return ms.Job(name, checkpoint=str(self.folder / name))

    def out(self, topic: str = "out", **options: Any) -> journal.JournalSink:
        if not (self.path / topic).exists():
            journal.create(self.path, topic)
        return journal.sink(topic, path=str(self.path), **options)

    def run(self, job: ms.Job, mode: ms.Mode | None = None) -> ms.Job:
        job.run(mode or ms.available_now(), spark=self.spark)
        return job

    def rows(self, topic: str = "out") -> list[Any]:
        return [record.json() for record in journal.read(self.path, topic)]

    def table(self, topic: str = "out") -> dict[str, Any]:
        """The last value of each key."""
        found: dict[str, Any] = {}
        for record in journal.read(self.path, topic):
            assert record.key is not None
            found[record.key.decode()] = json.loads(record.value) if record.value else None
        return {key: row for key, row in found.items() if row is not None}


@pytest.fixture
def jobs(tmp_path: Path, spark: SparkSession) -> Jobs:
    return Jobs(tmp_path, spark)


def test_json_with_columns_of_the_record_itself(topics: Topics, jobs: Jobs) -> None:
    one, other = topics.create("one", 2), topics.create("other", 1)
    sent = {"timestamp": 1_700_000_000_123, "headers": [("trace", b"abc")]}
    topics.send(one, {"n": 1}, key=lambda row: "a", **sent)
    topics.send(other, {"n": 2}, key=lambda row: "b", **sent)
    job = jobs.job()
    record = {"k": "key", "topic": "topic", "part": "partition", "offset": "offset", "sent": "timestamp"}
    source = kafka.source([one, other], record={**record, "headers": "headers"})
    rows = job.stream(source, "n BIGINT", name="both")
    rows.select("n", "topic", "offset", "sent", k="CAST(k AS STRING)", trace="CAST(headers[0].value AS STRING)").to(
        jobs.out()
    )
    jobs.run(job)
    assert sorted(jobs.rows(), key=lambda row: row["n"]) == [
        {"n": n, "topic": topic, "offset": 0, "sent": "2023-11-14T22:13:20.123000Z", "k": key, "trace": "abc"}
        for n, topic, key in ((1, one, "a"), (2, other, "b"))
    ]


def test_topics_by_pattern_raw_records_and_a_group_that_tells_the_lag(topics: Topics, jobs: Jobs) -> None:
    one, other = topics.create("a.one"), topics.create("a.other")
    topics.create("b")
    topics.send(one, b"\x00\xff", b"x")
    topics.send(other, b"y")
    job = jobs.job("raw")
    rows = job.stream(kafka.source(pattern=rf"{topics.prefix}\.a\..*", format="raw", record=("topic",)), name="some")
    rows.select("topic", value="hex(value)").to(jobs.out())
    jobs.run(job)
    assert sorted((row["topic"], row["value"]) for row in jobs.rows()) == [(one, "00FF"), (one, "78"), (other, "79")]
    assert topics.group("millstream.raw", one) == topics.ends(one)
    assert topics.group("millstream.raw", other) == topics.ends(other)


def test_where_a_job_starts(topics: Topics, jobs: Jobs) -> None:
    topic = topics.create("log", 2)
    for second in range(4):
        for part in range(2):
            topics.send(topic, {"n": second}, partition=part, timestamp=1_700_000_000_000 + second * 1000)
    starts: dict[str, Any] = {
        "offsets": {0: 3},
        "named": {topic: {0: 1, 1: 3}},
        "time": datetime.fromtimestamp(1_700_000_002, UTC),
        "text": "2023-11-14T22:13:23Z",
        "earliest": "earliest",
    }
    for name, start in starts.items():
        job = jobs.job(name)
        job.stream(kafka.source(topic, starting=start), "n BIGINT", name="log").to(jobs.out(name))
        jobs.run(job)
    found = {name: sorted(row["n"] for row in jobs.rows(name)) for name in starts}
    assert found == {
        "offsets": [0, 1, 2, 3, 3],
        "named": [1, 2, 3, 3],
        "time": [2, 2, 3, 3],
        "text": [3, 3],
        "earliest": [0, 0, 1, 1, 2, 2, 3, 3],
    }


def test_where_a_job_starts_that_knows_the_time_or_the_end_only(topics: Topics, jobs: Jobs) -> None:
    topic = topics.create("log", 2)
    topics.send(topic, {"n": 0}, timestamp=1_700_000_000_000)
    starts = {"latest": "latest", "after": "2023-12-01T00:00:00Z"}

    def run() -> None:
        for name, start in starts.items():
            job = jobs.job(name)
            job.stream(kafka.source(topic, starting=start), "n BIGINT", name="log").to(jobs.out(name))
            jobs.run(job)

    run()
    assert [jobs.rows(name) for name in starts] == [[], []]
    topics.send(topic, {"n": 1}, timestamp=1_700_000_001_000)
    run()
    assert [jobs.rows(name) for name in starts] == [[{"n": 1}], [{"n": 1}]]


@pytest.mark.parametrize("starting", [{7: 1}, {"nowhere": {0: 1}}])
def test_a_start_that_is_not_there(topics: Topics, jobs: Jobs, starting: Any) -> None:
    topics.create("log", 2)
    job = jobs.job()
    named = starting if "nowhere" in starting else {topics.name("log"): starting}
    job.stream(kafka.source(pattern=rf"{topics.prefix}\.log", starting=named), "n BIGINT", name="log").to(jobs.out())
    with pytest.raises(ms.MillstreamError) as caught:
        jobs.run(job)
    assert caught.value.code == "MS-KAFKA-001"


def test_topics_that_appear_while_a_job_runs(topics: Topics, jobs: Jobs) -> None:
    one = topics.create("a.one", 1)
    topics.send(one, {"n": 1})
    job = jobs.job()
    source = kafka.source(pattern=rf"{topics.prefix}\.a\..*", servers=quick(topics))
    job.stream(source, "n BIGINT", name="some").to(jobs.out())
    run = job.start(ms.micro_batch("0 seconds"), spark=jobs.spark)
    try:
        until(lambda: jobs.rows() == [{"n": 1}], run)
        topics.send(topics.create("a.two", 1), {"n": 2})
        until(lambda: jobs.rows() == [{"n": 1}, {"n": 2}], run)
    finally:
        run.stop()


def quick(topics: Topics) -> kafka.Cluster:
    """Clients that look for new topics often."""
    return kafka.cluster(topics.servers, settings={"metadata.max.age.ms": "500"})


def test_upserts_and_tombstones_as_a_table(topics: Topics, jobs: Jobs) -> None:
    """Keys as JSON objects and as plain text, of a number, of a string and of a date; through a restart."""
    topic = topics.create("people", 2, compacted=True)
    plain = topics.create("plain", 1, compacted=True)
    named = topics.create("named", 1, compacted=True)
    dated = topics.create("dated", 1, compacted=True)

    def run() -> None:
        job = jobs.job("people")
        people = job.table(kafka.source(topic), "id INT, name STRING", key="id", name="people")
        people.to(jobs.out("people"))
        others = job.table(kafka.source(plain, key_format="text"), "id BIGINT, name STRING", key="id", name="plain")
        others.to(jobs.out("plain"))
        texts = job.table(kafka.source(named, key_format="text"), "name STRING, n INT", key="name", name="named")
        texts.group_by(few="n < 2").agg(n="count(*)").to(jobs.out("few"))
        days = job.table(kafka.source(dated, key_format="text"), "day DATE, n INT", key="day", name="dated")
        days.to(jobs.out("days"))
        jobs.run(job)

    def by_id(row: Any) -> str:
        return json.dumps({"id": row["id"]})

    topics.send(topic, *({"id": n, "name": f"p{n}"} for n in range(5)), key=by_id)
    topics.send(plain, *({"id": n, "name": f"p{n}"} for n in range(3)), key=lambda row: str(row["id"]))
    topics.send(named, *({"name": f"n{n}", "n": n} for n in range(4)), key=lambda row: row["name"])
    topics.send(dated, *({"day": f"2026-01-0{n}", "n": n} for n in (1, 2)), key=lambda row: row["day"])
    topics.delete(topic, '{"id": 3}', '{"id": 99}')
    run()
    assert jobs.table("people") == {
        json.dumps({"id": n}, separators=(",", ":")): {"id": n, "name": f"p{n}"} for n in (0, 1, 2, 4)
    }
    assert {row["few"]: row["n"] for row in jobs.table("few").values()} == {True: 2, False: 2}
    topics.send(topic, {"id": 4, "name": "new"}, key=by_id)
    topics.delete(topic, '{"id": 0}')
    topics.delete(plain, "1")
    topics.delete(named, "n1")
    topics.delete(dated, "2026-01-01")
    run()
    assert {row["day"] for row in jobs.table("days").values()} == {"2026-01-02"}
    assert {row["id"]: row["name"] for row in jobs.table("people").values()} == {1: "p1", 2: "p2", 4: "new"}
    assert {row["id"] for row in jobs.table("plain").values()} == {0, 2}
    assert {row["few"]: row["n"] for row in jobs.table("few").values()} == {True: 1, False: 2}


def envelope(op: str, before: Any, after: Any, wrapped: bool) -> Any:
    bare = {"before": before, "after": after, "op": op, "source": {"table": "people"}, "ts_ms": 1}
    return {"schema": {"type": "struct"}, "payload": bare} if wrapped else bare


@pytest.mark.parametrize("wrapped", [False, True])
def test_debezium_envelopes_as_a_table(topics: Topics, jobs: Jobs, wrapped: bool) -> None:
    topic = topics.create(f"dbz{wrapped}", 1)

    def key(id_: int) -> str:
        return json.dumps({"schema": {}, "payload": {"id": id_}} if wrapped else {"id": id_})

    ann, bob, cyd = ({"id": n, "name": name, "age": 30} for n, name in enumerate(("ann", "bob", "cyd")))
    changes = [
        (0, envelope("r", None, ann, wrapped)),
        (1, envelope("c", None, bob, wrapped)),
        (1, envelope("c", None, bob, wrapped)),  # sent again after a crash
        (2, envelope("c", None, cyd, wrapped)),
        (0, envelope("u", None, {**ann, "age": 31}, wrapped)),
        (1, envelope("d", {"id": 1, "name": None, "age": None}, None, wrapped)),
        (2, envelope("d", None, None, wrapped)),
        (0, envelope("m", None, None, wrapped)),
    ]
    for id_, change in changes:
        topics.send(topic, change, key=lambda _, id_=id_: key(id_))  # type: ignore[misc]
    topics.delete(topic, key(1), key(2))
    # A large value that did not change: Postgres did not send it, and what stands there is not it.
    topics.send(topic, envelope("u", None, {**ann, "name": "__debezium_unavailable_value"}, wrapped))
    bad = topics.create(f"bad{wrapped}", 1)
    job = jobs.job()
    source = kafka.source(topic, format="debezium", dead_letters=bad)
    people = job.table(source, "id INT, name STRING, age INT", key="id", name="people")
    people.to(jobs.out())
    jobs.run(job)
    assert list(jobs.table().values()) == [{"id": 0, "name": "ann", "age": 31}]
    (letter,) = topics.rows(bad)
    assert "lacks name" in letter["reason"]
    assert "REPLICA IDENTITY FULL" in letter["reason"]


def test_records_that_cannot_be_read_are_named(topics: Topics, jobs: Jobs) -> None:
    one, other = topics.create("good", 1), topics.create("bad", 1)
    topics.send(one, {"n": 1})
    topics.send(other, b"{n:")
    job = jobs.job()
    job.stream(kafka.source([one, other]), "n BIGINT", name="both").to(jobs.out())
    with pytest.raises(ms.MillstreamError) as caught:
        jobs.run(job)
    assert caught.value.code == "MS-DECODE-001"
    assert f'offset 0 of topic "{other}", partition 0' in caught.value.message


def test_what_is_not_there(topics: Topics, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    topics.create("likes")
    job = jobs.job()
    job.stream(kafka.source(topics.name("likse")), "n BIGINT").to(jobs.out())
    with pytest.raises(ms.MillstreamError) as caught:
        jobs.run(job)
    assert caught.value.code == "MS-KAFKA-004"
    assert caught.value.hint == f"did you mean {topics.name('likes')}?"


def until(condition: Callable[[], bool], run: Run, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert not run.poll(0.05)
        assert time.monotonic() < deadline, f"nothing happens any more: {run.metrics()}"


def test_real_time(topics: Topics, jobs: Jobs) -> None:
    likes, people = topics.create("likes", 1), topics.create("names", 1)
    job = jobs.job()
    stream = job.stream(kafka.source(likes), "id INT, n INT", name="likes")
    names = job.table(kafka.source(people, key_format="text"), "id INT, name STRING", key="id", name="names")
    joined = stream.as_("l").join(names.as_("n"), on="l.id = n.id").select("l.n", "n.name")
    joined.to(jobs.out(changelog=True))
    run = job.start(ms.real_time("500 ms"), spark=jobs.spark)
    try:
        topics.send(people, {"id": 1, "name": "ann"}, key=lambda row: str(row["id"]))
        topics.send(likes, {"id": 1, "n": 7})
        until(lambda: jobs.rows() == [{"op": "insert", "n": 7, "name": "ann"}], run)
        topics.delete(people, "1")
        until(lambda: jobs.rows()[1:] == [{"op": "delete", "n": 7, "name": "ann"}], run)
        until(lambda: topics.group("millstream.read", likes) == {0: 1}, run)
    finally:
        run.stop()


def test_partitions_that_are_added_in_real_time(topics: Topics, jobs: Jobs) -> None:
    """The run continues after its last epoch with one more task. It has not failed."""
    rows = topics.create("rows", 1)
    job = jobs.job()
    job.stream(kafka.source(rows), "n INT", name="rows").group_by("n").agg(c="count(*)").to(jobs.out())
    run = job.start(ms.real_time("300 ms"), spark=jobs.spark)
    try:
        topics.send(rows, {"n": 1}, {"n": 1})
        until(lambda: {row["n"]: row["c"] for row in jobs.table().values()} == {1: 2}, run)
        topics.widen(rows, 2)
        topics.send(rows, {"n": 2}, partition=1)
        until(lambda: {row["n"]: row["c"] for row in jobs.table().values()} == {1: 2, 2: 1}, run)
        assert run.failures == []
    finally:
        run.stop()
