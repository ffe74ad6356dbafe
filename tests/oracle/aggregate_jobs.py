"""Aggregates of streams and tables."""

from __future__ import annotations

import millstream as ms
from millstream.testing.trial import Topics
from tests.oracle.inputs import accounts, facts, items
from tests.oracle.jobs import job

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
    "avg_l": "avg(l * 1700000000000000000)",
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

MORE = {
    "few": "count(*) FILTER (WHERE v > 0)",
    "few_v": "sum(v) FILTER (WHERE l = 1)",
    "few_d": "avg(d) FILTER (WHERE l > 0 OR l IS NULL)",
    "few_e": "max(e) FILTER (WHERE v > 0) - min(e)",
    "different": "count(DISTINCT v)",
    "different_few": "count(DISTINCT v) FILTER (WHERE l = 1)",
    "different_more": "count(DISTINCT v) FILTER (WHERE l <> 1)",
    "different_d": "count(DISTINCT d) + count(DISTINCT e)",
    "pairs": "count(DISTINCT l, s) FILTER (WHERE v > 0)",
    "first": "min_by(s, at)",
    "last": "max_by(v, at) FILTER (WHERE v > 0)",
    "of_most": "max_by(at, d)",
    "positive": "count_if(v > 0)",
    "all_positive": "bool_and(v > 0)",
    "any_positive": "bool_or(v > 0) FILTER (WHERE l = 1)",
    "dev_v": "stddev(v)",
    "dev_d": "stddev_pop(d) FILTER (WHERE NOT isnan(d))",
    "var_v": "variance(v) + var_pop(e)",
    "list_v": "collect_list(v)",
    "list_s": "collect_list(s) FILTER (WHERE v > 0)",
    "set_s": "collect_set(s)",
    "set_d": "collect_set(d)",
    "middle": "median(v)",
    "middle_d": "median(d) FILTER (WHERE v > 0)",
    "high": "percentile(v, 0.9) - percentile(e, 0.25)",
    "sum_of": "sum(DISTINCT v) + count(*)",
    "sum_of_e": "sum(DISTINCT e)",
    "sum_of_few": "sum(DISTINCT l) FILTER (WHERE v > 0)",
    "avg_of": "avg(DISTINCT v)",
    "avg_of_e": "avg(DISTINCT e)",
    "avg_of_d": "avg(DISTINCT d)",
    "words": "listagg(s, ', ')",
    "words_once": "string_agg(DISTINCT s, '') FILTER (WHERE v > 0)",
    "numbers": "listagg(v, '|')",
}


@job(facts=150)
def aggregate_stream(job: ms.Job, topics: Topics) -> None:
    """Alone in its stage."""
    facts(job, topics).group_by("c", "k").agg(**FIGURES, **MORE).to(topics.sink("out", changelog=True))


@job(items=300)
def aggregate_table(job: ms.Job, topics: Topics) -> None:
    items(job, topics).group_by("c", "k").agg(**FIGURES, **MORE).to(topics.sink("out", changelog=True))


@job(items=300)
def aggregate_whole_cases(job: ms.Job, topics: Topics) -> None:
    """Large groups: more values than the head of an extreme or the value state holds, and back to few."""
    rows = items(job, topics)
    rows.group_by("c").agg(**MORE).to(topics.sink("more"))
    rows.group_by("c").agg(low="min(v)", high="max(v)", last="max(at)", sum="sum(d)").to(topics.sink("out"))
    rows.group_by("c", "k").having("count(*) FILTER (WHERE v > 0) > 3 OR c = 1").agg(n="count(*)").to(
        topics.sink("many")
    )
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
    stream.as_("a").join(table.as_("b"), on="a.d = b.d").select("a.c", "a.v", "b.d", w="b.v").to(
        topics.sink("joined", changelog=True)
    )
