"""Operators upon operators."""

from __future__ import annotations

import millstream as ms
from millstream.testing.trial import Topics
from tests.oracle.inputs import accounts, facts, items, people
from tests.oracle.jobs import job


@job(facts=80, items=200, people=200)
def nested(job: ms.Job, topics: Topics) -> None:
    """Joins of joins, aggregates of joins and of aggregates; a node that several steps read; rows that pass levels."""
    stream, table, persons = facts(job, topics), items(job, topics), people(job, topics)
    first = (
        table.as_("t")
        .join(persons.as_("p"), on="t.c = p.c AND t.k = p.k")
        .select("t.c", "t.k", "t.v", "p.id", "p.name")
    )
    second = (
        first.as_("f").join(stream.as_("s"), on="f.c = s.c AND abs(f.v - s.v) < 10").select("f.c", "f.id", "s.v", "s.l")
    )
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
