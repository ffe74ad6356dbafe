"""What a table knew at which time: rows, epoch by epoch, and the answers."""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.testing import Inputs, Runner

ANN, BEA, CAT = "ann", "bea", "cat"


def at(minute: int, second: int = 0) -> str:
    return f"2026-01-01T00:{minute:02d}:{second:02d}.000000Z"


Found = tuple[str, str | None, str | None]


class Transcript:
    """Searches of users by name: as their names are, and as they were. Each feed is an epoch, and its own run."""

    def __init__(self, folder: Path, spark: SparkSession, *, changelog: bool = False) -> None:
        self.folder, self.path, self.spark, self.changelog = folder, str(folder / "journal"), spark, changelog
        for topic in ("searches", "people", "known", "dated"):
            journal.create(self.path, topic, 1)
        self.late = 0

    def job(self) -> ms.Job:
        job = ms.Job("searches", checkpoint=str(self.folder / "checkpoint"))
        searches = job.stream(
            journal.source("searches", path=self.path),
            schema="user STRING, at TIMESTAMP, term STRING",
            time="at",
            lateness="30 seconds",
        )
        people = job.table(
            journal.source("people", path=self.path, changelog=self.changelog),
            schema="user STRING, name STRING, since TIMESTAMP",
            key="user",
            time="since",
        )
        on = "s.user = p.user"
        known = searches.as_("s").enrich(people.as_("p"), on=on)
        known.select("s.user", "s.at", "p.name").to(journal.sink("known", path=self.path))
        dated = searches.as_("s").enrich(people.as_("p"), on=on, as_of="s.at").named("dated")
        dated.select("s.user", "s.at", "p.name").to(journal.sink("dated", path=self.path))
        return job

    def feed(self, *rows: tuple[str, str | None], people: tuple[Any, ...] = ()) -> None:
        with journal.producer(self.path, "people") as producer:
            for person in people:
                self.send(producer, *person)
        with journal.producer(self.path, "searches") as producer:
            for user, moment in rows:
                producer.send({"user": user, "at": moment, "term": "x"})
        run = self.job().start(ms.available_now(), spark=self.spark)
        run.wait()
        self.late += run.late()["dated"]

    def send(self, producer: Any, user: str, name: str | None, since: str, op: str | None = None) -> None:
        """A person's name since then; no name: deleted then."""
        when = datetime.fromisoformat(since)
        row = {"user": user, "name": name, "since": since}
        if self.changelog:
            producer.send({"op": op, **row}, timestamp=when)
        else:
            producer.send(row if name else None, key={"user": user}, timestamp=when)

    def rows(self, topic: str) -> Counter[Found]:
        found = [record.json() for record in journal.read(self.path, topic)]
        return Counter((row["user"], row.get("at"), row.get("name")) for row in found)


def test_the_latest_known_is_added_once(tmp_path: Path, spark: SparkSession) -> None:
    said = Transcript(tmp_path, spark)
    said.feed(("u", at(0)))
    expected: Counter[Found] = Counter([("u", at(0), None)])
    assert said.rows("known") == expected, "nothing is known yet"
    said.feed(("u", at(1)), ("v", at(1)), people=(("u", ANN, at(9)),))
    expected += Counter([("u", at(1), ANN), ("v", at(1), None)])
    assert said.rows("known") == expected, "the table's changes of an epoch come first"
    said.feed(people=(("u", BEA, at(9)),))
    assert said.rows("known") == expected, "what was sent is not corrected"
    said.feed(("u", at(2)), people=(("v", CAT, at(9)),))
    said.feed(("u", at(3)), ("v", at(3)), people=(("u", None, at(9)),))
    expected += Counter([("u", at(2), BEA), ("u", at(3), None), ("v", at(3), CAT)])
    assert said.rows("known") == expected


@pytest.mark.slow
def test_as_of_waits_for_the_watermark_and_finds_the_version_of_its_time(tmp_path: Path, spark: SparkSession) -> None:
    said = Transcript(tmp_path, spark)
    both = (("u", BEA, at(0, 50)), ("u", ANN, at(0, 10)))
    said.feed(("u", at(0, 20)), ("u", at(0, 55)), ("u", at(0, 5)), people=both)
    expected: Counter[Found] = Counter([("u", at(0, 20), ANN), ("u", at(0, 5), None)])
    assert said.rows("dated") == expected, "the watermark is at 0:25; both versions came in one epoch"
    said.feed(("u", None))
    said.feed(("z", at(1, 25)))
    expected += Counter([("u", None, None)])
    assert said.rows("dated") == expected, "at 0:55 the time 0:55 is not past"
    said.feed(("z", at(1, 26)), ("u", at(1, 50)), ("u", at(2, 0)), ("u", at(3, 10)))
    expected += Counter([("u", at(0, 55), BEA), ("z", at(1, 25), None), ("z", at(1, 26), None)])
    expected += Counter([("u", at(1, 50), BEA), ("u", at(2), BEA)])
    assert said.rows("dated") == expected
    # Deleted at 3:05, and back at 4:00.
    said.feed(("u", at(3)), ("u", at(4)), people=(("u", None, at(3, 5)), ("u", CAT, at(4))))
    said.feed(("z", at(9)))
    expected += Counter([("u", at(3), BEA), ("u", at(3, 10), None), ("u", at(4), CAT)])
    assert said.rows("dated") == expected
    assert said.late == 0


@pytest.mark.slow
def test_late_rows_are_answered_if_their_version_is_kept(tmp_path: Path, spark: SparkSession) -> None:
    said = Transcript(tmp_path, spark)
    said.feed(("u", at(6)), people=(("u", ANN, at(1)), ("u", BEA, at(2)), ("u", CAT, at(9))))
    assert said.rows("dated") == Counter(), "the watermark is at 5:30"
    said.feed(("u", at(3)), ("u", at(1, 30)), ("v", at(1)))
    assert said.rows("dated") == Counter([("u", at(3), BEA), ("v", at(1), None)])
    assert said.late == 1, "what was before 2:00 is forgotten"
    said.feed(people=(("v", ANN, at(4)), ("u", "dan", at(1))))
    said.feed(("v", at(7)), ("z", at(8)))
    assert said.rows("dated") - Counter([("u", at(3), BEA), ("v", at(1), None)]) == Counter(
        [("u", at(6), BEA), ("v", at(7), ANN)]
    )
    assert said.late == 3, "two versions came after rows of their time were answered"


@pytest.mark.slow
def test_a_changelog_ends_a_version_when_it_takes_it_back(tmp_path: Path, spark: SparkSession) -> None:
    said = Transcript(tmp_path, spark, changelog=True)
    ann, bea = ("u", ANN, at(1)), ("u", BEA, at(2))
    said.feed(people=((*ann, "insert"),))
    said.feed(("u", at(1, 30)), ("u", at(2, 30)), ("u", at(5)), people=((*bea, "insert"),))
    said.feed(people=((*ann, "delete"),))
    said.feed(("z", at(9)))
    expected: Counter[Found] = Counter([("u", at(1, 30), ANN), ("u", at(2, 30), BEA), ("u", at(5), BEA)])
    assert said.rows("dated") == expected, "ann was taken back when she had been replaced"
    with journal.producer(said.path, "people") as producer:
        row = {"op": "delete", "user": "u", "name": BEA, "since": at(2)}
        producer.send(row, timestamp=datetime.fromisoformat(at(10)))
    said.feed(("u", at(9, 59)), ("u", at(10)), ("z", at(20)))
    assert said.rows("dated") - expected == Counter([("z", at(9), None), ("u", at(9, 59), BEA), ("u", at(10), None)])


@pytest.mark.slow
def test_nothing_is_kept_of_a_key_that_was_taken_back(tmp_path: Path, spark: SparkSession) -> None:
    """It came and went ahead of the watermark, while a row of it waited."""
    said = Transcript(tmp_path, spark, changelog=True)
    with journal.producer(said.path, "people") as producer:
        for op, minute in (("insert", 5), ("delete", 6)):
            row = {"op": op, "user": "u", "name": CAT, "since": at(5)}
            producer.send(row, timestamp=datetime.fromisoformat(at(minute)))
    said.feed(("u", at(1)))
    said.feed(("z", at(3)))
    assert said.rows("dated") == Counter([("u", at(1), None)])
    said.feed(("z", at(20)))
    states = spark.read.format("statestore").option("operatorId", 0).option("stateVarName", "dated_key")
    kept = states.load(str(tmp_path / "checkpoint" / "spark")).selectExpr("to_json(key) AS key").collect()
    assert not any('"u"' in row["key"] for row in kept), kept


def test_in_batch_all_of_the_table_is_known(tmp_path: Path, spark: SparkSession) -> None:
    said = Transcript(tmp_path, spark)
    with journal.producer(said.path, "people") as producer:
        for person in (("u", ANN, at(1)), ("v", ANN, at(1)), ("u", BEA, at(2)), ("v", None, at(3))):
            said.send(producer, *person)
    with journal.producer(said.path, "searches") as producer:
        for user, moment in (("u", at(1)), ("u", at(5)), ("v", at(2)), ("v", at(4)), ("w", None)):
            producer.send({"user": user, "at": moment, "term": "x"})
    said.job().run(ms.batch(), spark=spark)
    rows = [("u", at(1), BEA), ("u", at(5), BEA), ("v", at(2), None), ("v", at(4), None), ("w", None, None)]
    assert said.rows("known") == Counter(rows)
    rows = [("u", at(1), ANN), ("u", at(5), BEA), ("v", at(2), ANN), ("v", at(4), None), ("w", None, None)]
    assert said.rows("dated") == Counter(rows)


@pytest.mark.slow
def test_a_table_that_is_idle_holds_nothing_back(tmp_path: Path, spark: SparkSession) -> None:
    """Nor does the stream itself: its last row is answered when all are idle."""
    path = str(tmp_path / "journal")
    for topic in ("searches", "people", "dated"):
        journal.create(path, topic, 1)
    job = ms.Job("searches", checkpoint=str(tmp_path / "checkpoint"))
    searches = job.stream(
        journal.source("searches", path=path), "user STRING, at TIMESTAMP", time="at", idle_after="500 ms"
    )
    people = job.table(
        journal.source("people", path=path),
        "user STRING, name STRING, since TIMESTAMP",
        key="user",
        time="since",
        lateness="1 second",
        idle_after="500 ms",
    )
    dated = searches.as_("s").enrich(people.as_("p"), on="s.user = p.user", as_of="s.at")
    dated.select("s.at", "p.name").to(journal.sink("dated", path=path))
    with journal.producer(path, "people") as producer:
        producer.send({"user": "u", "name": ANN, "since": at(1)}, key={"user": "u"})
    with journal.producer(path, "searches") as producer:
        for moment in (at(3), at(0), at(7)):
            producer.send({"user": "u", "at": moment})
    run = job.start(ms.micro_batch("100 ms"), spark=spark)
    until = time.monotonic() + 60
    try:
        while len(list(journal.read(path, "dated"))) < 3 and time.monotonic() < until:
            run.poll(0.1)
    finally:
        run.stop()
    found = [record.json() for record in journal.read(path, "dated")]
    assert Counter((row["at"], row.get("name")) for row in found) == Counter(
        [(at(0), None), (at(3), ANN), (at(7), ANN)]
    )


@pytest.mark.slow
def test_rows_without_a_key_are_spread(millstream: Runner) -> None:
    """They find nothing, and need not be in one place; upserts of many rows of one place come one by one, in order."""
    job = ms.Job("searches")
    searches = job.stream(journal.source("searches"), "n INT, city STRING").as_("s")
    shops = job.table(journal.source("shops"), "id INT, city STRING", key="id").as_("p")
    searches.enrich(shops, on="s.city = p.city").select("s.n", "p.id").to(journal.sink("found"))
    many = [{"id": id_, "city": "bonn"} for id_ in range(40)]
    moved = [{"id": 1, "city": "ulm"}, {"id": 1, "city": "bonn"}, {"id": 2, "city": "ulm"}, *many[3:20]]
    nobody = [{"n": n, "city": None} for n in range(200)]
    inputs: Inputs = {
        "shops": [many, moved, []],
        "searches": [[], [], [*nobody, {"n": 300, "city": "bonn"}, {"n": 301, "city": "ulm"}]],
    }
    rows = [(row["n"], row.get("id")) for row in millstream.run(job, inputs, restart_between=True)["found"].rows]
    assert sorted(row for row in rows if row[0] < 300) == [(n, None) for n in range(200)]
    assert {id_ for n, id_ in rows if n == 300} == set(range(40)) - {2}
    assert [id_ for n, id_ in rows if n == 301] == [2]
