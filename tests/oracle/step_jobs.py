"""Stateless steps, unions and dead letters."""

from __future__ import annotations

import millstream as ms
from millstream.testing.trial import Topics
from tests.oracle.inputs import FACTS, facts, items
from tests.oracle.jobs import job


@job(facts=60)
def filter_alone(job: ms.Job, topics: Topics) -> None:
    facts(job, topics).where("v > 0 AND s <> 'w1'").select("c", "v", double="v * 2").to(topics.sink("out"))


@job(facts=60)
def explode_alone(job: ms.Job, topics: Topics) -> None:
    facts(job, topics).explode("xs", as_="x").where("x > 0").select("c", "x").to(topics.sink("out"))


@job(quick=True, facts=100, items=200, more=60)
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
    # Parts of different types: whole numbers, large ones, floating ones.
    wide = stream.select("c", "v").union(more.select("c", v="l * 10000000000"))
    wide.to(topics.sink("wide"))
    mixed = wide.union(stream.select("c", v="d"))
    mixed.group_by("c").agg(n="count(DISTINCT v)", v="max(v)").to(topics.sink("wider"))
    stream.select("c", v="date(at)").union(more.select("c", v="at")).to(topics.sink("times"))
    counts = table.group_by("c").agg(v="count(*)")
    counts.union(counts, table.select("c", "v"), stream.select("c", "v")).to(topics.sink("levels", changelog=True))
