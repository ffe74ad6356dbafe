"""Inner joins of streams and tables."""

from __future__ import annotations

import millstream as ms
from millstream.testing.trial import Topics
from tests.oracle.inputs import FACTS, accounts, facts, items, people
from tests.oracle.jobs import job


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


@job(quick=True, facts=70, more=40, items=160, people=250, accounts=140)
def joins(job: ms.Job, topics: Topics) -> None:
    """Every pair of kinds in one stage; residuals; keys of different types; hot keys with many rows on both sides."""
    stream, more, table = facts(job, topics), facts(job, topics, "more"), items(job, topics)
    persons, latest = people(job, topics), accounts(job, topics)
    stream.as_("a").join(more.as_("b"), on="a.c = b.c AND a.k = b.l AND a.v < b.v").select("a.c", "a.v", w="b.v").to(
        topics.sink("streams")
    )
    stream.as_("a").join(table.as_("b"), on="a.c = b.c AND a.s <=> b.s").select("a.c", "a.v", w="b.v").to(
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


@job(facts=150, items=250)
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


@job(facts=100, more=80, items=80)
def timed_joins(job: ms.Job, topics: Topics) -> None:
    """Times in the condition, and a time to live, with enough lateness that nothing ends: like any join."""
    left = job.stream(topics.source("facts"), FACTS, time="at", lateness="100 days").as_("a")
    right = job.stream(topics.source("more"), FACTS, time="at", lateness="100 days").as_("b")
    near = "a.c = b.c AND b.at BETWEEN a.at - INTERVAL 3 DAYS AND a.at + INTERVAL 36 HOURS"
    chosen = {"c": "a.c", "v": "a.v", "w": "b.v", "at": "a.at"}
    pairs = left.join(right, on=near).select(**chosen)
    pairs.to(topics.sink("pairs"))
    assert isinstance(pairs, ms.Stream)
    left.join(right, on=f"{near} AND a.k = b.k", how="semi").select("a.c", "a.v").to(topics.sink("semi"))
    chain = pairs.as_("p").join(right, on="p.c = b.c AND b.at >= p.at AND b.at < p.at + INTERVAL 2 DAYS")
    chain.select("p.c", "p.v", "p.w", x="b.v").to(topics.sink("chain"))
    pairs.window(ms.tumbling("1 day")).group_by("c").agg(n="count(*)", v="sum(v)").to(topics.sink("windows"))
    table = items(job, topics).as_("t")
    left.join(right, on="a.c = b.c AND a.k = b.l", ttl="1 day").select(**chosen).to(topics.sink("ttl_streams"))
    for how in ("inner", "full"):
        left.join(table, on="a.c = t.c AND a.s = t.s AND a.v <> t.v", how=how, ttl="1 day").select(
            "a.c", "a.v", "t.l", w="t.v"
        ).to(topics.sink(f"ttl_{how}", changelog=True))


@job(facts=60, items=120, people=100)
def broadcast_joins(job: ms.Job, topics: Topics) -> None:
    stream, table, persons = facts(job, topics).as_("a"), items(job, topics).as_("b"), people(job, topics).as_("p")
    on = "a.c = b.c AND a.k = b.l AND a.v < b.v"
    for how in ("inner", "left"):
        stream.join(table, on=on, how=how, broadcast=True).select("a.c", "a.v", "b.l", w="b.v").to(
            topics.sink(how, changelog=True)
        )
    for how in ("semi", "anti"):
        stream.join(table, on=on, how=how, broadcast=True).select("a.c", "a.v").to(topics.sink(how, changelog=True))
    persons.as_("q").join(persons, on="q.c = p.c AND q.k = p.k", how="left", broadcast=True).select(
        "q.c", "q.id", "q.name", d="p.c", other="p.id", called="p.name"
    ).to(topics.sink("by_key"))
    other = table.select("v", case="c", j="k").as_("b")
    other.join(persons, on="b.case = p.c AND b.j = p.k", broadcast=True).to(topics.sink("whole", changelog=True))
