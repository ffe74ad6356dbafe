"""Streams with what tables know. Answers depend on when a table knew it, so the tables are read first; as plain SQL,
the latest known is then the last that there is."""

from __future__ import annotations

import millstream as ms
from millstream.testing.trial import Topics
from tests.oracle.inputs import accounts, facts, items, people
from tests.oracle.jobs import job


@job(first=("items", "people", "accounts"), facts=120, items=250, people=200, accounts=160)
def enrich(job: ms.Job, topics: Topics) -> None:
    """Tables by key, by another column with many rows, made by an aggregate; NULL keys; conditions."""
    stream, table = facts(job, topics).as_("a"), items(job, topics).as_("b")
    persons, latest = people(job, topics), accounts(job, topics)
    stream.enrich(persons.as_("p"), on="a.c = p.c AND a.l = p.id").select("a.c", "a.v", "p.name", "p.k").to(
        topics.sink("by_key")
    )
    stream.enrich(latest.as_("p"), on="a.c = p.c AND a.k = p.id AND (a.v < p.v OR p.s = 'w1')", how="inner").select(
        "a.c", "a.v", w="p.v", t="p.s"
    ).to(topics.sink("inner"))
    stream.enrich(table, on="a.c = b.c AND a.k = b.k AND a.v > b.v AND a.c < 6").select("a.c", "a.v", w="b.v").to(
        topics.sink("many")
    )
    counts = latest.group_by("c").agg(n="count(*)", s="max(s)")
    known = stream.enrich(counts.as_("n"), on="a.c = n.c").select("a.c", "a.v", "a.k", "n.n", t="n.s")
    known.to(topics.sink("of_counts"))
    known.group_by("c", "n").agg(v="sum(v)").to(topics.sink("sums"))
    known.as_("a").enrich(latest.as_("p"), on="a.c = p.c AND a.k = CAST(p.id AS STRING)").select(
        "a.c", "a.n", "p.s", i="p.id"
    ).to(topics.sink("twice"))
