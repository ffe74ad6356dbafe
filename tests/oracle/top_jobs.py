"""Top-N, rows without duplicates, streams as tables."""

from __future__ import annotations

import millstream as ms
from millstream.testing.trial import Topics
from tests.oracle.inputs import accounts, facts, items, people
from tests.oracle.jobs import job


@job(facts=120, items=300, people=200)
def tops(job: ms.Job, topics: Topics) -> None:
    """Over streams and tables, with and without ranks, ties, NULLs; of large groups that shrink; upon aggregates."""
    stream, table, persons = facts(job, topics), items(job, topics), people(job, topics)
    stream.top(3, by="v DESC, at", per="c").to(topics.sink("streamed", changelog=True))
    stream.select("c", "k", "v", "d").top(2, by="d DESC NULLS FIRST", per=("c", "k"), rank="place").to(
        topics.sink("ranked")
    )
    table.top(4, by="v % 5, d DESC", per="c").to(topics.sink("tabled", changelog=True))
    table.select("c", "v").top(40, by="abs(v) DESC NULLS LAST", rank="place").to(topics.sink("whole"))
    persons.top(3, by="name, id DESC", per="c").to(topics.sink("persons"))
    persons.top(2, by="id", per="name").to(topics.sink("moving"))
    counts = table.group_by("c", "s").agg(n="count(*)", v="sum(v)")
    best = counts.top(2, by="n DESC", per="c", rank="place")
    best.to(topics.sink("most_counted"))
    best.group_by("place").agg(n="sum(n)", words="count(DISTINCT s)").to(topics.sink("of_tops"))


@job(facts=120, more=120, items=300, accounts=120)
def dedups(job: ms.Job, topics: Topics) -> None:
    stream, more, table, latest = (
        facts(job, topics),
        facts(job, topics, "more"),
        items(job, topics),
        accounts(job, topics),
    )
    stream.dedup("c", "k", by="at").to(topics.sink("first"))
    stream.dedup("c", "s", keep="last", by="at").to(topics.sink("last"))
    table.dedup("c", "l", keep="last", by="at").to(topics.sink("of_table"))
    latest.dedup("c", "k", by="v").to(topics.sink("of_latest"))
    more.to_table(("c", "k"), by="at").to(topics.sink("table"))
    kept = more.select("c", "l", "v", "at").to_table(("c", "l"), delete="v < 0", by="at")
    kept.to(topics.sink("without_deleted"))
    kept.group_by("c").agg(n="count(*)", v="sum(v)").to(topics.sink("counted"))
