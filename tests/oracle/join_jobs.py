"""Inner joins of streams and tables."""

from __future__ import annotations

from inputs import accounts, facts, items, people
from jobs import job

import millstream as ms
from millstream.testing.oracle import Topics


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


@job("straight", facts=70, more=40, items=120, people=150, accounts=100)
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


@job("straight", facts=120, more=80, items=250)
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
