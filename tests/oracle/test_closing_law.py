"""When the watermark has passed everything, what windows, joins and all that follows them said is what plain SQL says.

No row is late but those without a time, whatever waited for what before, and whether rows and timers come one after the
other or mixed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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

MODES: dict[str, MicroBatch | RealTime] = {"micro-batch": ms.available_now(), "real time": ms.real_time("500 ms")}
START = datetime(2026, 1, 1, tzinfo=UTC)
KEYS, EVENTS, CLOSING = 4, 240, -1
SCHEMA = "k INT, v INT, n INT, at TIMESTAMP"
PERSON = "k INT, v INT, since TIMESTAMP"
SOON = "s.k = c.k AND c.at BETWEEN s.at AND s.at + INTERVAL 2 MINUTES"
TEN = ms.tumbling("10 minutes")


def streams(job: ms.Job, topics: Topics) -> tuple[ms.Stream, ms.Stream]:
    """Without the rows that only move time."""
    made = []
    for topic in ("searches", "clicks"):
        rows = job.stream(topics.source(topic), SCHEMA, time="at", lateness="5 minutes")
        made.append(rows.where(f"v <> {CLOSING}"))
    return made[0].as_("s"), made[1].as_("c")


def windows(topics: Topics) -> ms.Job:
    job = ms.Job("windows")
    searches, clicks = streams(job, topics)
    clicks.dedup("n", within="1 minute").select("c.n", "c.v").to(topics.sink("once"))
    settled = clicks.dedup("k", within="1 minute", keep="last")
    settled.to(topics.sink("settled"))
    settled.window(TEN).group_by("k").agg(n="count(*)", v="sum(v)").final().to(topics.sink("of_settled"))
    changing = searches.window(TEN).group_by("k").agg(n="count(*)", v="sum(v)")
    counts = changing.final(time="window_time")
    counts.to(topics.sink("counts"))
    after(topics, counts, changing, clicks)
    few = searches.window(TEN).group_by("k").having("count(*) < 5").agg(v="sum(v)").final(time="window_time")
    few.to(topics.sink("few"))
    few.window(ms.tumbling("30 minutes")).agg(n="count(*)", v="max(v)").final().to(topics.sink("of_few"))
    counts.top(1, by="n DESC", per="window_start").to(topics.sink("busiest"))
    counts.top(2, by="n DESC", per="window_end", rank="place").to(topics.sink("places"))
    counts.group_by("window_end").agg(groups="count(*)", most="max(n)").to(topics.sink("of_counts"))
    shared = searches.window(ms.hopping("10 minutes", every="30 seconds")).group_by("k").agg(n="count(*)", v="max(v)")
    overlapping = shared.final()
    overlapping.to(topics.sink("hopping"))
    panes = searches.window(ms.hopping("10 minutes", every="5 minutes")).group_by("k").having("max(v) > 40")
    panes.agg(n="count(*)").final().to(topics.sink("of_panes"))
    sums = overlapping.group_by("window_start").agg(n="sum(n)")
    sums.top(3, by="n", per="window_start").to(topics.sink("of_hopping"))
    visits = searches.window(ms.session("30 seconds")).group_by("k").agg(n="count(*)", last="max(at)").final()
    visits.to(topics.sink("visits"))
    long = searches.window(ms.session("30 seconds")).group_by("k").having("count(*) > 1").agg(n="count(*)")
    long.final().to(topics.sink("long_visits"))
    visits.group_by("window_end").agg(n="max(n)").to(topics.sink("of_visits"))
    searches.window(TEN).late().to(topics.sink("untimed"))
    return job


def after(topics: Topics, counts: ms.Stream, changing: ms.Table, clicks: ms.Stream) -> None:
    """Windows of windows, and what is joined with them: within a time, or by window."""
    half = counts.window(ms.tumbling("30 minutes")).agg(n="sum(n)", most="max(n)")
    half.final(time="window_time").to(topics.sink("half_hours"))
    near = "f.k = c.k AND c.at BETWEEN f.window_time - INTERVAL 1 MINUTE AND f.window_time"
    last = counts.as_("f").join(clicks, on=near, how="left")
    last.select("f.k", "f.window_end", "f.window_time", "c.n").to(topics.sink("last_clicks"))
    clicked = clicks.window(TEN).group_by("k").agg(n="count(*)")
    same = "f.window_end = g.window_end AND f.k = g.k"
    for how, left, right in (
        ("inner", counts, clicked.final()),
        ("left", changing, clicked),
        ("anti", changing, counts),
        ("semi", counts, clicked.final()),
        ("full", counts, clicked.final()),
    ):
        more = " AND f.n <= g.n" if how in ("semi", "full") else ""
        joined = left.as_("f").join(right.as_("g"), on=same + more, how=how)
        chosen = {} if how in ("anti", "semi") else {"clicks": "g.n", "there": "g.k", "since": "g.window_start"}
        sink = topics.sink(f"{how}_windows", changelog=isinstance(joined, ms.Table))
        joined.select("f.k", "f.window_start", "f.window_end", "f.n", **chosen).to(sink)


class Later(ms.Process):
    """Reports each row once, after a minute."""

    output = "n INT, at TIMESTAMP"
    rows = ms.ListState("INT")

    def on_row(self, key: Any, row: Any) -> None:
        if row.at is not None:
            self.rows.append(row.n)
            self.set_timer(row.at + timedelta(minutes=1))

    def on_timer(self, key: Any, at: datetime) -> Any:
        for n in self.rows:
            yield {"n": n, "at": at}
        self.rows.clear()


def code(topics: Topics) -> ms.Job:
    """What Python code gives has its own time."""
    job = ms.Job("code")
    searches, clicks = streams(job, topics)
    sooner = clicks.map(lambda row: {"k": row.k, "seen": row.at}, schema="k INT, seen TIMESTAMP", time="seen")
    sooner.window(TEN).group_by("k").agg(n="count(*)").final().to(topics.sink("mapped"))
    later = searches.key_by("n").process(Later, time="at")
    later.window(TEN).agg(n="count(*)", last="max(at)").final().to(topics.sink("processed"))
    later.as_("s").join(sooner.as_("c"), on="s.n = c.k", ttl="1 hour").select("s.n").to(topics.sink("none"))
    return job


def waiting(topics: Topics) -> ms.Job:
    """What follows a join that lets rows wait."""
    job = ms.Job("waiting")
    searches, clicks = streams(job, topics)
    found: dict[str, ms.Stream] = {}
    for how in ("left", "right", "full", "semi", "anti"):
        both = {"k": "s.k", "n": "s.n", "v": "s.v"} | ({} if how in ("semi", "anti") else {"link": "c.n"})
        time = {} if how == "full" else {"at": "c.at" if how == "right" else "s.at"}
        joined = searches.join(clicks, on=SOON, how=how).select(**both, **time)
        assert isinstance(joined, ms.Stream)
        found[how] = joined
        found[how].to(topics.sink(how))
    for how in ("left", "right", "anti"):
        counted = found[how].window(TEN).group_by("k").agg(n="count(*)", v="sum(v)")
        counted.final().top(1, by="n DESC, k", per="window_start").to(topics.sink(f"best_{how}"))
        counted.group_by("window_end").agg(n="sum(n)", groups="count(*)").to(topics.sink(f"windows_{how}"))
    left = found["left"].as_("s")
    left.window(ms.session("1 minute")).group_by("k").agg(n="count(*)").final().to(topics.sink("sessions"))
    left.window(ms.hopping("10 minutes", every="5 minutes")).agg(n="count(*)").final().to(topics.sink("hopping"))
    left.dedup("n", "link", within="1 second").select("s.n", "s.link").to(topics.sink("once"))
    quiet = left.dedup("k", within="1 minute", keep="last")
    quiet.select("s.n", "s.link").to(topics.sink("quiet"))
    quiet.window(ms.session("2 minutes")).agg(n="count(*)").final().to(topics.sink("of_quiet"))
    twice = left.join(clicks, on=SOON, how="anti").select("s.k", "s.n", "s.at")
    assert isinstance(twice, ms.Stream)
    twice.window(TEN).group_by("k").agg(n="count(*)").final().to(topics.sink("twice"))
    more = found["anti"].select("n", "at").union(clicks.select("c.n", "c.at"))
    more.window(TEN).agg(n="count(*)").final().to(topics.sink("together"))
    people = job.table(topics.source("people"), PERSON, key="k", time="since", lateness="5 minutes")
    known = left.enrich(people.as_("p"), on="s.k = p.k").select("s.n", "s.at")
    known.window(TEN).agg(n="count(*)").final().to(topics.sink("known"))
    dated = left.enrich(people.as_("p"), on="s.k = p.k", as_of="s.at")
    dated.select("s.n", "s.link", "p.v").to(topics.sink("dated"))
    left.window(TEN).late().to(topics.sink("untimed"))
    return job


JOBS: dict[str, tuple[Callable[[Topics], ms.Job], tuple[str, ...]]] = {
    "windows": (windows, ("searches", "clicks")),
    "waiting": (waiting, ("searches", "clicks", "people")),
    "code": (code, ("searches", "clicks")),
}
LIMITS = {"searches": 25, "clicks": 25, "people": 12}
Event = tuple[str, dict[str, Any], datetime]


def events(seeds: Sequence[int]) -> list[Event]:
    """Topic, row and time of each record: about in the order of time. Each seed has its own keys and numbers."""
    randoms = [Random(seed) for seed in seeds]
    return [event for n in range(EVENTS) for place, random in enumerate(randoms) for event in at(n, random, place)]


def at(n: int, random: Random, place: int) -> Iterator[Event]:
    """Sometimes twice."""
    when = START + timedelta(seconds=15 * n + random.randint(-60, 60), milliseconds=random.choice([0, 0, 1]))
    moment = when.isoformat(timespec="milliseconds")
    key = random.randrange(KEYS) + KEYS * place
    number = n + EVENTS * place
    row = {"k": None if random.random() < 0.05 else key, "v": random.randint(0, 50), "n": number}
    topic = random.choice(["searches", "searches", "clicks", "clicks", "people"])
    if topic == "people":
        yield topic, {"k": key, "v": row["v"], "since": moment}, when
        return
    event = topic, {**row, "at": None if random.random() < 0.02 else moment}, when
    yield event
    if random.random() < 0.1:
        yield event


def closing() -> list[Event]:
    """Rows with a time beyond everything."""
    when = START + timedelta(days=30)
    row = {"k": 99, "v": CLOSING, "n": -1, "at": when.isoformat(), "since": when.isoformat()}
    return [(topic, row, when) for topic in ("searches", "clicks", "people")]


def append(path: Path, topics: tuple[str, ...], parts: list[Event]) -> None:
    """All in one partition, so that none is ahead of the other."""
    for topic in topics:
        with journal.producer(path, topic, durable=False) as producer:
            for name, row, when in parts:
                if name == topic:
                    key = {"k": row["k"]} if topic == "people" else None
                    producer.send(row, key=key, timestamp=when, partition=0)


def fed(path: Path, topics: tuple[str, ...], seeds: Sequence[int]) -> Iterator[Limits]:
    """With a stop in between. About as many epochs of each topic."""
    all_ = events(seeds)
    half = len(all_) * 2 // 5
    for part in (all_[:half], [*all_[half:], *closing()]):
        append(path, topics, part)
        yield {topic: limit * len(seeds) for topic, limit in LIMITS.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_closing(name: str, seeds: Sequence[int], spark: SparkSession, tmp_path: Path) -> None:
    """At the end time moves beyond everything. Each job runs in both modes, from one checkpoint; which one is first
    depends on the job and on the seed that is new in every run. It is killed before it has seen the end of time: right
    after the commit of the last epoch that had rows."""
    modes = list(MODES.values())
    first = (list(JOBS).index(name) + seeds[-1]) % 2
    judge(name, [modes[first], modes[1 - first]], seeds, spark, tmp_path, killed=True)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("killed", [False, True], ids=["straight", "killed"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", JOBS)
def test_closing_in_one_mode(
    name: str, mode: str, killed: bool, seeds: Sequence[int], spark: SparkSession, tmp_path: Path
) -> None:
    judge(name, [MODES[mode]], seeds, spark, tmp_path, killed=killed)


def judge(
    name: str,
    modes: Sequence[MicroBatch | RealTime],
    seeds: Sequence[int],
    spark: SparkSession,
    folder: Path,
    *,
    killed: bool,
) -> None:
    build, topics = JOBS[name]
    trial = Trial(Case(build, {topic: [] for topic in topics}, seeds[-1]), folder)
    untimed = Counter(topic for topic, row, _ in events(seeds) if row.get("at", "since") is None)
    late = {0, untimed["searches"], untimed["clicks"], untimed.total()}
    report = check_closing(trial, fed(trial.journal, topics, seeds), modes, spark, late=late, killed=killed)
    assert all(count for sink, count in report.records.items() if sink != "none"), report
