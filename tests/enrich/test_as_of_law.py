"""When the watermark has passed everything, what was answered as of each row's time is what plain SQL says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.plan.modes import MicroBatch, RealTime
from millstream.testing.oracle import check_closing
from millstream.testing.trial import Case, Limits, Topics, Trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 1, 1, tzinfo=UTC)
KEYS, EVENTS, CLOSING = 4, 500, -1
FIRST = 100
"""The number of the first fact. No key of a place is as large: what is known about one depends on when a fact comes."""
INPUTS = ("facts", "prices", "places")
LIMITS = {"facts": 72, "prices": 24, "places": 36}
VERSION = "k INT, x INT, v INT, since TIMESTAMP"
Event = tuple[str, dict[str, Any], dict[str, Any] | None, datetime]
"""Topic, row, key and time of a record."""


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


def events(seeds: Sequence[int]) -> list[Event]:
    """About in the order of time. Each seed has its own keys and numbers."""
    inputs = [Input(seed, place) for place, seed in enumerate(seeds)]
    return [event for n in range(EVENTS) for one in inputs for event in one.at(n)]


class Input:
    """The events of one seed."""

    def __init__(self, seed: int, place: int) -> None:
        self._random, self._place = Random(seed), place
        self._live: dict[tuple[int, int], dict[str, Any]] = {}

    def at(self, n: int) -> Iterator[Event]:
        random = self._random
        when = START + timedelta(seconds=10 * n + random.randint(-60, 60), milliseconds=random.choice([0, 0, 1]))
        since = when.isoformat(timespec="milliseconds")
        row = {"k": random.randrange(KEYS) + KEYS * self._place, "v": random.randint(0, 50)}
        kind = random.random()
        if kind < 0.6:
            at = None if random.random() < 0.02 else since
            key = None if random.random() < 0.05 else row["k"]
            yield "facts", {**row, "k": key, "n": FIRST + n + EVENTS * self._place, "at": at}, None, when
        elif kind < 0.8:
            gone = random.random() < 0.2
            yield "prices", {} if gone else {**row, "x": 0, "since": since}, {"k": row["k"]}, when
        else:
            for change in self._placed({**row, "x": random.randrange(2), "since": since}):
                yield "places", change, None, when

    def _placed(self, row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """A place has one row at a time."""
        place = row["k"], row["x"]
        old = self._live.pop(place, None)
        if old is not None:
            yield {"op": "delete", **old}
        if old is None or self._random.random() < 0.8:
            self._live[place] = row
            yield {"op": "insert", **row}


def closing() -> list[Event]:
    """Rows with a time beyond everything."""
    when = START + timedelta(days=30)
    row = {"k": 99, "x": 0, "v": CLOSING, "n": -1, "at": when.isoformat(), "since": when.isoformat()}
    return [
        ("facts", row, None, when),
        ("prices", row, {"k": 99}, when),
        ("places", {"op": "insert", **row}, None, when),
    ]


def append(path: Path, parts: list[Event]) -> None:
    for topic in INPUTS:
        with journal.producer(path, topic, durable=False) as producer:
            for name, row, key, when in parts:
                if name == topic:
                    # All in one partition, so that none is ahead of the other.
                    producer.send(row or None, key=key, timestamp=when, partition=0)


def fed(path: Path, seeds: Sequence[int]) -> Iterator[Limits]:
    """With a stop in between, and one before time moves beyond everything. About as many epochs of each topic: none
    runs ahead of the others."""
    all_ = events(seeds)
    half = len(all_) * 2 // 5
    for part in (all_[:half], all_[half:], closing()):
        append(path, part)
        yield {topic: limit * len(seeds) for topic, limit in LIMITS.items()}


MODES: tuple[MicroBatch | RealTime, ...] = (ms.available_now(), ms.real_time("500 ms"))


@pytest.mark.slow
def test_as_of(seeds: Sequence[int], spark: SparkSession, tmp_path: Path) -> None:
    """In both modes in turn, from one checkpoint. Killed right after the commit of the last rows: what these let go
    still comes out."""
    first = seeds[-1] % 2
    judge([MODES[first], MODES[1 - first]], seeds, spark, tmp_path, killed=True)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("mode", MODES, ids=["micro-batch", "real time"])
def test_as_of_in_one_mode(
    mode: MicroBatch | RealTime, seeds: Sequence[int], spark: SparkSession, tmp_path: Path
) -> None:
    judge([mode], seeds, spark, tmp_path, killed=isinstance(mode, MicroBatch))


def judge(
    modes: Sequence[MicroBatch | RealTime], seeds: Sequence[int], spark: SparkSession, folder: Path, *, killed: bool
) -> None:
    trial = Trial(Case(job, {topic: [] for topic in INPUTS}, seeds[-1]), folder)
    report = check_closing(trial, fed(trial.journal, seeds), modes, spark, killed=killed)
    assert all(report.records.values()), report
