"""Outer, semi and anti joins of streams and tables: NULL keys, residuals, duplicates, hot keys, self-joins, chains."""

from __future__ import annotations

import millstream as ms
from millstream.testing.trial import Topics
from tests.oracle.inputs import accounts, facts, items, people
from tests.oracle.jobs import job

PAIRS = {"c": "a.c", "v": "a.v", "d": "b.c", "w": "b.v"}
LEFT = {"c": "a.c", "v": "a.v"}


@job(facts=60, more=40, items=120)
def outer_joins(job: ms.Job, topics: Topics) -> None:
    """Without a residual: a row has a partner if the other side has rows of its key."""
    stream, more, table = facts(job, topics).as_("a"), facts(job, topics, "more").as_("b"), items(job, topics)
    on = "a.c = b.c AND a.k = b.l"
    for how in ("left", "right", "full"):
        stream.join(more, on=on, how=how).select(**PAIRS).to(topics.sink(f"{how}_streams", changelog=True))
        table.as_("a").join(more, on=on, how=how).select(**PAIRS).to(topics.sink(f"{how}_mixed", changelog=True))
    table.as_("a").join(table.as_("b"), on=on, how="full").select(**PAIRS).to(topics.sink("self", changelog=True))
    stream.join(more, on=on, how="semi").select(**LEFT).to(topics.sink("semi_streams"))
    stream.join(more, on=on, how="anti").select(**LEFT).to(topics.sink("anti_streams", changelog=True))
    for how in ("semi", "anti"):
        table.as_("a").join(table.as_("b"), on=on, how=how).select(**LEFT).to(topics.sink(how, changelog=True))


@job(facts=50, more=40, items=150)
def outer_joins_with_residuals(job: ms.Job, topics: Topics) -> None:
    """Each row has its own partners; hot keys outgrow what is kept in line, and shrink again."""
    stream, more, table = facts(job, topics).as_("a"), facts(job, topics, "more").as_("b"), items(job, topics)
    near = "a.c = b.c AND abs(a.v - b.v) < 9"
    # One side alone, in the condition: such a row has no partner, but is there.
    some = "a.c = b.c AND a.s = b.s AND a.v > 0 AND b.k IS NOT NULL AND (a.v < b.v OR a.at <> b.at)"
    for how in ("left", "right", "full"):
        stream.join(more, on=near, how=how).select(**PAIRS).to(topics.sink(f"{how}_streams", changelog=True))
        table.as_("a").join(table.as_("b"), on=near, how=how).select(**PAIRS).to(
            topics.sink(f"{how}_self", changelog=True)
        )
        table.as_("a").join(more, on=some, how=how).where("coalesce(a.l, 0) < 3 AND (b.v IS NULL OR b.v < 30)").select(
            **PAIRS
        ).to(topics.sink(f"{how}_some", changelog=True))
    stream.join(more, on=near, how="semi").select(**LEFT).to(topics.sink("semi_streams"))
    for how in ("semi", "anti"):
        table.as_("a").join(more, on=near, how=how).select(**LEFT).to(topics.sink(f"{how}_near", changelog=True))
        table.as_("a").join(table.as_("b"), on=some.replace("a.s = b.s", "a.k = b.k"), how=how).select(**LEFT).to(
            topics.sink(f"{how}_some", changelog=True)
        )


@job(people=260, accounts=220, facts=60)
def outer_joins_by_key(job: ms.Job, topics: Topics) -> None:
    """To sinks by key, from one task or several; upon other joins and below aggregates."""
    persons, latest, stream = people(job, topics), accounts(job, topics), facts(job, topics)
    chosen = {"c": "a.c", "id": "a.id", "name": "a.name", "case": "b.c", "other": "b.id", "v": "b.v"}
    for how in ("left", "right", "full"):
        persons.as_("a").join(latest.as_("b"), on="a.c = b.c AND a.id = b.id", how=how).select(**chosen).to(
            topics.sink(f"{how}_still")
        )
        persons.as_("a").join(latest.as_("b"), on="a.c = b.c AND a.k = b.k AND a.name <> b.s", how=how).select(
            **chosen
        ).to(topics.sink(f"{how}_moving"))
    persons.as_("a").join(latest.as_("b"), on="a.c = b.c AND a.k = b.k", how="anti").to(topics.sink("anti"))
    persons.as_("a").join(latest.as_("b"), on="a.c = b.c AND a.id = b.k", how="semi").to(topics.sink("semi"))
    chain = (
        persons.as_("a")
        .join(latest.as_("b"), on="a.c = b.c AND a.id = b.id", how="left")
        .select("a.c", "a.id", "b.v")
        .as_("ab")
        .join(stream.as_("s"), on="ab.c = s.c AND ab.v = s.v", how="full")
        .select("ab.c", "ab.id", "s.k", "s.v", d="s.c")
    )
    chain.to(topics.sink("chain", changelog=True))
    chain.group_by("c", "d").agg(n="count(*)", ids="count(id)", v="max(v)").to(topics.sink("counts"))


@job(people=400, accounts=400)
def joins_by_one_key(job: ms.Job, topics: Topics) -> None:
    """Each row of one side meets one row of the other at most: its key alone tells the result's rows apart."""
    persons, latest = people(job, topics).as_("p"), accounts(job, topics).as_("a")
    of_account = {"c": "a.c", "id": "a.id", "v": "a.v", "name": "p.name", "w": "p.k"}
    for how in ("inner", "left"):
        latest.join(persons, on="a.c = p.c AND a.k = p.id", how=how).select(**of_account).to(
            topics.sink(f"{how}_moving", key=("c", "id"))
        )
        latest.join(persons, on="a.c = p.c AND a.id = p.id AND a.v > 9", how=how).select(**of_account).to(
            topics.sink(f"{how}_still", key=("c", "id"))
        )
        latest.join(persons, on="a.c = p.c AND a.v = p.id", how=how, broadcast=True).select(**of_account).to(
            topics.sink(f"{how}_copied", key=("c", "id"))
        )
    persons.join(latest, on="p.c = a.c AND p.id = a.k", how="right").select(**of_account).to(
        topics.sink("right_moving", key=("c", "id"))
    )
