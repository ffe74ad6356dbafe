"""Aggregates of all rows, relations as sets, tables as streams of changes."""

from __future__ import annotations

import millstream as ms
from millstream.testing.trial import Topics
from tests.oracle.aggregate_jobs import FIGURES, MORE
from tests.oracle.inputs import accounts, facts, items, people
from tests.oracle.jobs import job


@job(facts=80, items=200)
def whole(job: ms.Job, topics: Topics) -> None:
    """Grouped by nothing: one row from the first epoch on, also of no rows, and again when all are gone."""
    stream, table = facts(job, topics), items(job, topics)
    every = {name: sql for name, sql in (FIGURES | MORE).items() if name != "range"}
    stream.agg(**every).to(topics.sink("streamed"))
    table.agg(**every).to(topics.sink("tabled", changelog=True))
    table.where("v > 1000").agg(n="count(*)", v="sum(v)", low="min(v)", words="collect_set(s)").to(topics.sink("none"))
    table.where("v = 7").agg(n="count(*)", low="min(l)", d="stddev(d)").to(topics.sink("few", changelog=True))
    per_case = table.group_by("c").agg(n="count(*)")
    per_case.agg(cases="count(*)", most="max(n)").to(topics.sink("of_groups"))
    per_case.agg(most="max(n)").as_("m").join(per_case.as_("p"), on="m.most = p.n").select("p.c", "p.n").to(
        topics.sink("joined", changelog=True)
    )


@job(facts=120, more=120, items=200, people=250)
def sets(job: ms.Job, topics: Topics) -> None:
    stream, more = facts(job, topics).select("c", "k"), facts(job, topics, "more").select("c", "k")
    table, persons = items(job, topics), people(job, topics)
    stream.distinct().to(topics.sink("distinct"))
    table.select("c", "l", "d").distinct().to(topics.sink("distinct_rows"))
    facts(job, topics).select("s").distinct().as_("a").join(persons.as_("b"), on="a.s = b.name").select(
        "b.c", "b.id", "a.s"
    ).to(topics.sink("joined", changelog=True))
    pairs = table.select("c", k="v % 3")
    pairs.intersect(stream).to(topics.sink("both"))
    pairs.except_(stream).to(topics.sink("not_streamed"))
    stream.except_(pairs).to(topics.sink("not_tabled"))
    stream.intersect(more, all=True).to(topics.sink("both_all", changelog=True))
    pairs.except_(more, all=True).to(topics.sink("more_all", changelog=True))
    pairs.intersect(more).except_(stream).agg(n="count(*)").to(topics.sink("counted"))


@job(items=200, people=200, accounts=150)
def changes(job: ms.Job, topics: Topics) -> None:
    table, persons, latest = items(job, topics), people(job, topics), accounts(job, topics)
    persons.changes().to(topics.sink("persons", key=("c", "id")))
    counts = table.group_by("c", "s").agg(n="count(*)", v="sum(v)")
    counts.changes().to(topics.sink("counts", key=("c", "s")))
    # What the changes sum up to is counted again.
    sums = counts.changes(op="change").group_by("c").agg(words="sum(CASE change WHEN 'insert' THEN 1 ELSE -1 END)")
    sums.where("words > 0").to(topics.sink("sums"))
    latest.union(latest).changes().to(topics.sink("doubled", key=("c", "id")))
