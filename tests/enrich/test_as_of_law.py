"""When the watermark has passed everything, what was answered as of each row's time is what plain SQL says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.testing.oracle import Case, Limits, Topics, Trial, check_closing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 1, 1, tzinfo=UTC)
KEYS, EVENTS, CLOSING = 4, 500, -1
INPUTS = ("facts", "prices", "places")
VERSION = "k INT, x INT, v INT, since TIMESTAMP"


def job(topics: Topics) -> ms.Job:
    job = ms.Job("dated")
    facts = job.stream(topics.source("facts"), "k INT, v INT, n INT, at TIMESTAMP", time="at", lateness="5 minutes")
    prices = job.table(topics.source("prices"), VERSION, key="k", time="since", lateness="5 minutes")
    places = job.table(
        topics.source("places", changelog=True), VERSION, key=("k", "x"), time="since", lateness="5 minutes"
    )
    price = facts.as_("f").enrich(prices.as_("p"), on="f.k = p.k", as_of="f.at")
    price.where(f"f.v <> {CLOSING}").select("f.k", "f.n", "f.at", price="p.v", since="p.since").to(topics.sink("out"))
    # At the second level: the versions ride through the first.
    known = facts.as_("f").enrich(places.as_("p"), on="f.n = p.k").select("f.k", "f.v", "f.n", "f.at")
    keyed = prices.select("since", "v", key="k")
    deep = known.as_("f").enrich(keyed.as_("p"), on="f.k = p.key AND f.v > p.v", how="inner", as_of="f.at")
    deep.select("f.n", "p.v").to(topics.sink("deep"))
    for how in ("left", "inner"):
        on = "f.k = p.k AND f.v % 2 = p.x AND (p.v < f.v OR f.n % 3 = 0)"
        placed = facts.as_("f").enrich(places.as_("p"), on=on, how=how, as_of="f.at")
        placed.where(f"f.v <> {CLOSING}").select("f.n", "f.v", place="p.v").to(topics.sink(how))
    return job


def events(random: Random) -> list[tuple[str, dict[str, Any], dict[str, Any] | None, datetime]]:
    """Topic, row, key and time of each record: about in the order of time."""
    out: list[tuple[str, dict[str, Any], dict[str, Any] | None, datetime]] = []
    live: dict[tuple[int, int], dict[str, Any]] = {}
    for n in range(EVENTS):
        when = START + timedelta(seconds=10 * n + random.randint(-60, 60), milliseconds=random.choice([0, 0, 1]))
        since = when.isoformat(timespec="milliseconds")
        row = {"k": random.randrange(KEYS), "v": random.randint(0, 50)}
        kind = random.random()
        if kind < 0.6:
            at = None if random.random() < 0.02 else since
            row["k"] = None if random.random() < 0.05 else row["k"]  # type: ignore[assignment]
            out.append(("facts", {**row, "n": n, "at": at}, None, when))
        elif kind < 0.8:
            gone = random.random() < 0.2
            out.append(("prices", {} if gone else {**row, "x": 0, "since": since}, {"k": row["k"]}, when))
        else:
            place = row["k"], random.randrange(2)
            old = live.pop(place, None)
            if old is not None:
                out.append(("places", {"op": "delete", **old}, None, when))
            if old is None or random.random() < 0.8:
                live[place] = {**row, "x": place[1], "since": since}
                out.append(("places", {"op": "insert", **live[place]}, None, when))
    return out


def closing() -> list[tuple[str, dict[str, Any], dict[str, Any] | None, datetime]]:
    """Rows of a time that lies beyond everything."""
    when = START + timedelta(days=30)
    row = {"k": 99, "x": 0, "v": CLOSING, "n": -1, "at": when.isoformat(), "since": when.isoformat()}
    return [
        ("facts", row, None, when),
        ("prices", row, {"k": 99}, when),
        ("places", {"op": "insert", **row}, None, when),
    ]


def append(path: Path, parts: list[tuple[str, dict[str, Any], dict[str, Any] | None, datetime]]) -> None:
    for topic in INPUTS:
        with journal.producer(path, topic, durable=False) as producer:
            for name, row, key, when in parts:
                if name == topic:
                    # All in one partition, so that none is ahead of the other.
                    producer.send(row or None, key=key, timestamp=when, partition=0)


def fed(path: Path) -> Iterator[Limits]:
    """With a stop in between, and one before time moves beyond everything. About as many epochs of each topic: none
    runs ahead of the others."""
    all_ = events(Random(1))
    for part in (all_[:200], all_[200:], closing()):
        append(path, part)
        yield {"facts": 72, "prices": 24, "places": 36}


@pytest.mark.slow
@pytest.mark.parametrize("mode", [ms.available_now(), ms.real_time("500 ms")], ids=["micro-batch", "real time"])
def test_as_of(mode: ms.Mode, spark: SparkSession, tmp_path: Path) -> None:
    trial = Trial(Case(job, {topic: [] for topic in INPUTS}, seed=1), tmp_path)
    report = check_closing(trial, fed(trial.journal), mode, spark)
    assert all(report.records.values()), report
