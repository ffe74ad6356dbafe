"""The jobs that the oracle judges. Each is written once and runs in every scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from inputs import FACTS, accounts, facts, items, people

import millstream as ms
from millstream.testing.oracle import Topics


@dataclass(frozen=True)
class Written:
    """A job and how many changes each of its sources has."""

    build: Callable[[Topics], ms.Job]
    counts: dict[str, int]


ALL: dict[str, Written] = {}


def job(**counts: int) -> Callable[[Callable[[ms.Job, Topics], None]], None]:
    def register(fill: Callable[[ms.Job, Topics], None]) -> None:
        def build(topics: Topics) -> ms.Job:
            made = ms.Job(fill.__name__)
            fill(made, topics)
            return made

        ALL[fill.__name__] = Written(build, counts)

    return register


# --- stateless steps


@job(facts=60)
def filter_alone(job: ms.Job, topics: Topics) -> None:
    facts(job, topics).where("v > 0 AND s <> 'w1'").select("c", "v", double="v * 2").to(topics.sink("out"))


@job(facts=60)
def explode_alone(job: ms.Job, topics: Topics) -> None:
    facts(job, topics).explode("xs", as_="x").where("x > 0").select("c", "x").to(topics.sink("out"))


@job(facts=100, items=200, more=60)
def steps(job: ms.Job, topics: Topics) -> None:
    """Every stateless step, one after the other and side by side, over streams and tables."""
    stream, table, more = facts(job, topics), items(job, topics), facts(job, topics, "more")
    stream.where("v > 0").with_columns(v="v + 1", w="coalesce(k, -1)").to(topics.sink("wider"))
    stream.explode("xs", as_="x").explode("array(x, v)", as_="y").where("y IS NOT NULL").select("c", "x", "y").to(
        topics.sink("exploded")
    )
    stream.select("c", "v", "s").union(more.select("c", "v", "s")).where("v % 2 = 0").to(topics.sink("both"))
    # A name in another order, and another case.
    mixed = table.select("c", "v", "s").union(stream.select("s", "V", "c"), more.select("c", "v", "s"))
    mixed.where("c < 6").to(topics.sink("mixed", changelog=True))
    table.where("l = 1 OR k IS NULL").select("c", "d", "e", day="date(at)").to(topics.sink("some", changelog=True))
    table.select("c", x="v % 3").to(topics.sink("narrow", changelog=True))


@job(broken=80, items=60)
def dead_letters(job: ms.Job, topics: Topics) -> None:
    stream = job.stream(topics.source("broken", dead_letters="bad"), FACTS)
    stream.where("v > 0 OR v IS NULL").select("c", "v").to(topics.sink("good"))
    stream.group_by("c").agg(n="count(*)").to(topics.sink("counts"))
    stream.as_("a").join(items(job, topics).as_("b"), on="a.c = b.c AND a.k = b.k").select("a.v", w="b.v").to(
        topics.sink("joined", changelog=True)
    )


@job(facts=80, more=50, items=120)
def unions(job: ms.Job, topics: Topics) -> None:
    """Below joins and aggregates, of what comes from several levels, and of a thing with itself."""
    stream, more, table = facts(job, topics), facts(job, topics, "more"), items(job, topics)
    both = stream.union(more)
    both.as_("u").join(table.as_("t"), on="u.c = t.c AND u.k = t.k AND u.v > 10").select("u.v", w="t.v").to(
        topics.sink("below_join", changelog=True)
    )
    both.group_by("c").agg(n="count(*)", v="sum(v)", low="min(v)").to(topics.sink("below_aggregate"))
    stream.union(stream, more).select("c", "v").to(topics.sink("twice"))
    table.union(table).group_by("c", "s").agg(n="count(*)", high="max(v)").to(topics.sink("counted_twice"))
    counts = table.group_by("c").agg(v="count(*)")
    counts.union(counts, table.select("c", "v"), stream.select("c", "v")).to(topics.sink("levels", changelog=True))


# --- aggregates

FIGURES = {
    "n": "count(*)",
    "nv": "count(v)",
    "sum_v": "sum(v)",
    "sum_l": "sum(l)",
    "sum_d": "sum(d)",
    "sum_e": "sum(e)",
    "avg_v": "avg(v)",
    "avg_d": "avg(d)",
    "avg_e": "avg(e)",
    "min_v": "min(v)",
    "max_v": "max(v)",
    "min_d": "min(d)",
    "max_d": "max(d)",
    "min_e": "min(e)",
    "max_s": "max(s)",
    "min_at": "min(at)",
    "range": "max(v) - min(v) + c",
    "some": "sum(CASE WHEN v > 0 THEN v END) + count(*)",
}


@job(facts=150)
def aggregate_stream(job: ms.Job, topics: Topics) -> None:
    """Alone in its stage."""
    facts(job, topics).group_by("c", "k").agg(**FIGURES).to(topics.sink("out", changelog=True))


@job(items=300)
def aggregate_table(job: ms.Job, topics: Topics) -> None:
    items(job, topics).group_by("c", "k").agg(**FIGURES).to(topics.sink("out", changelog=True))


@job(items=300)
def aggregate_whole_cases(job: ms.Job, topics: Topics) -> None:
    """Large groups: more values than the head of an extreme holds, and back to few."""
    rows = items(job, topics)
    rows.group_by("c").agg(low="min(v)", high="max(v)", last="max(at)", sum="sum(d)").to(topics.sink("out"))
    rows.group_by("s").agg(low="min(d)", high="max(d)", first="min(e)", n="count(*)").to(topics.sink("by_s"))


@job(facts=120, items=250, accounts=150)
def aggregates(job: ms.Job, topics: Topics) -> None:
    """Several in one stage, over a stream, a changelog and upserts; keys of several types; no combining for some."""
    stream, table, latest = facts(job, topics), items(job, topics), accounts(job, topics)
    stream.group_by("c", "k").agg(n="count(*)", s="sum(v)", d="avg(d)").to(topics.sink("counts"))
    stream.group_by("s", m="v % 3").agg(n="count(v)", e="sum(e)", low="min(d)").to(topics.sink("by_word"))
    table.group_by("c", "l").agg(**FIGURES).to(topics.sink("all_figures", changelog=True))
    table.group_by("c").agg(low="min(v)", high="max(v)").to(topics.sink("extremes"))
    table.group_by(day="date(at)").agg(n="count(*)", words="max(s)").to(topics.sink("by_day"))
    latest.group_by("c", "k").agg(n="count(*)", v="sum(v)", s="min(s)").to(topics.sink("of_latest", changelog=True))
    latest.where("v > 5").group_by("s").agg(n="count(*)", high="max(v)").to(topics.sink("of_some"))


@job(facts=150, items=200)
def float_keys(job: ms.Job, topics: Topics) -> None:
    """NaN is one group, and so are the two zeros."""
    stream, table = facts(job, topics), items(job, topics)
    stream.where("d IS NULL OR isnan(d) OR abs(d) < 100").group_by("d").agg(n="count(*)").to(topics.sink("streamed"))
    table.group_by(f="CAST(d AS FLOAT)").agg(n="count(*)", v="min(v)").to(topics.sink("tabled", changelog=True))
    # v * 0 is -0.0 for half of the rows, d - d is NaN for some.
    stream.group_by("c", z="v * 0D", n="d - d").agg(m="count(*)").to(topics.sink("zeros", changelog=True))
    table.group_by("k").agg(low="min(v * 0D)", high="max(v * 0D)", n="count(*)").to(topics.sink("extremes"))
    table.select("c", "k", z="v * 0D + l").group_by("k").agg(low="min(z)", high="max(z)").to(topics.sink("few"))
    stream.where("s = 'w1'").as_("a").join(table.as_("b"), on="a.c = b.c AND a.v * 0D = b.v * CAST(0 AS FLOAT)").select(
        "a.v", w="b.v"
    ).to(topics.sink("zeros_joined", changelog=True))
    stream.as_("a").join(table.as_("b"), on="a.c = b.c AND a.d = b.d").select("a.c", "a.v", "b.d", w="b.v").to(
        topics.sink("joined", changelog=True)
    )


# --- joins


@job(facts=100, more=60)
def join_streams(job: ms.Job, topics: Topics) -> None:
    left, right = facts(job, topics).as_("a"), facts(job, topics, "more").as_("b")
    left.join(right, on="a.c = b.c AND a.k = b.k").select("a.c", "a.v", "b.s", w="b.v").to(topics.sink("out"))


@job(facts=80, items=150)
def join_stream_table(job: ms.Job, topics: Topics) -> None:
    left, right = facts(job, topics).as_("a"), items(job, topics).as_("b")
    left.join(right, on="a.c = b.c AND b.l = a.k AND a.v < b.v").select("a.c", "a.v", "b.l", w="b.v").to(
        topics.sink("out", changelog=True)
    )


@job(items=150, people=200)
def join_tables(job: ms.Job, topics: Topics) -> None:
    left, right = items(job, topics).as_("a"), people(job, topics).as_("b")
    left.join(right, on="a.c = b.c AND a.k = b.k").select("a.c", "a.v", "b.id", "b.name").to(
        topics.sink("out", changelog=True)
    )


@job(items=120)
def self_join(job: ms.Job, topics: Topics) -> None:
    rows = items(job, topics)
    rows.as_("a").join(rows.as_("b"), on="a.c = b.c AND a.k = b.l AND a.s <= b.s").select(
        "a.c", "a.v", "a.k", w="b.v", t="b.s"
    ).to(topics.sink("out", changelog=True))


@job(facts=70, more=40, items=120, people=150, accounts=100)
def joins(job: ms.Job, topics: Topics) -> None:
    """Every pair of kinds in one stage; residuals; keys of different types; hot keys with many rows on both sides."""
    stream, more, table = facts(job, topics), facts(job, topics, "more"), items(job, topics)
    persons, latest = people(job, topics), accounts(job, topics)
    stream.as_("a").join(more.as_("b"), on="a.c = b.c AND a.k = b.l AND a.v < b.v").select("a.c", "a.v", w="b.v").to(
        topics.sink("streams")
    )
    stream.as_("a").join(table.as_("b"), on="a.c = b.c AND a.s = b.s").select("a.c", "a.v", w="b.v").to(
        topics.sink("stream_table", changelog=True)
    )
    table.as_("a").join(persons.as_("b"), on="a.c = b.c AND a.l = b.id").select("a.c", "a.v", "b.id", "b.name").to(
        topics.sink("tables", changelog=True)
    )
    persons.as_("a").join(latest.as_("b"), on="a.c = b.c AND a.k = b.k AND a.name <> b.s").select(
        "a.c", "a.id", "a.name", other="b.id", case="b.c", v="b.v"
    ).to(topics.sink("by_key"))
    persons.as_("a").join(persons.as_("b"), on="a.c = b.c AND a.id = b.id + 1").select(
        "a.c", "a.id", "a.name", other="b.name", d="b.c", i="b.id"
    ).to(topics.sink("self"))


@job(facts=120, more=80, items=250)
def hot_keys(job: ms.Job, topics: Topics) -> None:
    """Far more rows of one key, on both sides, than are kept in line; then deleted down to few."""
    stream, more, table = facts(job, topics), facts(job, topics, "more"), items(job, topics)
    near = "a.c = b.c AND abs(a.v - b.v) < 4"
    chosen = {"c": "a.c", "v": "a.v", "w": "b.v"}
    stream.as_("a").join(more.as_("b"), on=near).select(**chosen).to(topics.sink("streams"))
    stream.as_("a").join(table.as_("b"), on=near).select(**chosen).to(topics.sink("stream_table", changelog=True))
    table.as_("a").join(table.as_("b"), on=near).select(**chosen).to(topics.sink("self", changelog=True))


@job(facts=60, items=120)
def key_types(job: ms.Job, topics: Topics) -> None:
    stream, table = facts(job, topics).as_("a"), items(job, topics).as_("b")
    chosen = {"c": "a.c", "v": "a.v", "w": "b.v"}
    pairs = {
        "decimals": "a.k = CAST(b.v % 3 AS DECIMAL(8, 2))",
        "doubles": "a.l = CAST(b.v % 4 AS DOUBLE)",
        "dates": "date(date_trunc('month', a.at)) = date_trunc('month', b.at)",
    }
    for name, pair in pairs.items():
        stream.join(table, on=f"a.c = b.c AND {pair}").select(**chosen).to(topics.sink(name, changelog=True))
    stream.join(table, on="a.c = b.c AND substr(a.s, 2) = b.l").select(**chosen).to(
        topics.sink("texts", changelog=True)
    )


# --- operators upon operators


@job(facts=60, items=120, people=120)
def nested(job: ms.Job, topics: Topics) -> None:
    """Joins of joins, aggregates of joins and of aggregates; a node that several steps read; rows that pass levels."""
    stream, table, persons = facts(job, topics), items(job, topics), people(job, topics)
    first = (
        table.as_("t")
        .join(persons.as_("p"), on="t.c = p.c AND t.k = p.k")
        .select("t.c", "t.k", "t.v", "p.id", "p.name")
    )
    second = first.as_("f").join(stream.as_("s"), on="f.c = s.c AND f.v = s.v").select("f.c", "f.id", "s.v", "s.l")
    second.to(topics.sink("joined_twice", changelog=True))
    counts = first.group_by("c", "name").agg(n="count(*)", v="sum(v)", low="min(v)")
    counts.to(topics.sink("counts"))
    counts.group_by("c").agg(names="count(*)", most="max(n)", least="min(low)").to(topics.sink("counts_of_counts"))
    counts.as_("a").join(persons.as_("b"), on="a.c = b.c AND a.name = b.name").select(
        "a.c", "a.name", "a.n", "b.id"
    ).to(topics.sink("back", changelog=True))
    # Straight to a sink, through all levels.
    stream.where("v > 20").select("c", "v").to(topics.sink("straight"))
    persons.to(topics.sink("persons"))
    table.select("c", "v").union(first.select("c", "v")).to(topics.sink("union", changelog=True))


@job(items=200)
def aggregate_of_aggregate(job: ms.Job, topics: Topics) -> None:
    per_word = items(job, topics).group_by("c", "k", "s").agg(n="count(*)", high="max(v)")
    per_key = per_word.group_by("c", "k").agg(words="count(s)", n="sum(n)", high="max(high)", low="min(n)")
    per_key.group_by("c").agg(keys="count(*)", n="sum(n)", high="max(high)").to(topics.sink("out"))


@job(accounts=160, people=200)
def upserts(job: ms.Job, topics: Topics) -> None:
    """Tables by key, to sinks by key: an update may leave one task and come out of another."""
    latest, persons = accounts(job, topics), people(job, topics)
    latest.to(topics.sink("copy"))
    latest.where("v > 10").select("c", "id", "s").to(topics.sink("part"))
    latest.as_("a").join(persons.as_("b"), on="a.c = b.c AND a.k = b.k").select(
        "a.c", "a.id", "a.v", "b.name", case="b.c", person="b.id"
    ).to(topics.sink("moving"))
    latest.as_("a").join(persons.as_("b"), on="a.c = b.c AND a.id = b.id").select(
        "a.c", "a.id", "a.v", "b.name", case="b.c", person="b.id"
    ).to(topics.sink("still"))
    latest.group_by("c").agg(v="sum(v)").to(topics.sink("sums"))
    persons.select("c", "id", "name").to(topics.sink("keyed", changelog=True, key="id"))


# --- windows; so much lateness is allowed that no row is late, and the law is that of any aggregate


@job(facts=150)
def windows(job: ms.Job, topics: Topics) -> None:
    timed = job.stream(topics.source("facts"), schema=FACTS, time="at", lateness="100 days")
    days = timed.window(ms.tumbling("1 day"))
    days.group_by("c", "k").agg(n="count(*)", v="sum(v)", top="max(s)").to(topics.sink("daily"))
    days.agg(n="count(*)").group_by("n").agg(days="count(*)").to(topics.sink("of_counts"))
    hopping = timed.where("v IS NOT NULL").window(ms.hopping("3 days", every="36 hours"), allowed_lateness="1 day")
    hopping.group_by("c").agg(v="min(v)", d="avg(v)").to(topics.sink("hopping"))
