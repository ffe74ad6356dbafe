"""Windows with enough allowed lateness that no row is late: the law is that of any aggregate."""

from __future__ import annotations

import millstream as ms
from millstream.testing.trial import Topics
from tests.oracle.inputs import FACTS
from tests.oracle.jobs import job


@job(facts=150)
def windows(job: ms.Job, topics: Topics) -> None:
    timed = job.stream(topics.source("facts"), schema=FACTS, time="at", lateness="100 days")
    days = timed.window(ms.tumbling("1 day"))
    days.group_by("c", "k").agg(n="count(*)", v="sum(v)", top="max(s)").to(topics.sink("daily"))
    days.group_by("c", "k").having("count(*) % 2 = 1 AND min(v) < 30").agg(v="sum(v)").to(topics.sink("odd"))
    days.agg(n="count(*)").group_by("n").agg(days="count(*)").to(topics.sink("of_counts"))
    hopping = timed.where("v IS NOT NULL").window(ms.hopping("3 days", every="36 hours"), allowed_lateness="1 day")
    hopping.group_by("c").agg(
        v="min(v)", d="avg(v)", n="count(DISTINCT v)", all="collect_list(v)", last="max_by(s, at)"
    ).to(topics.sink("hopping"))
    weeks = timed.window(ms.tumbling("1 week", offset="4 days"))
    weeks.group_by("c").agg(n="count(*)", v="sum(v)").to(topics.sink("weekly"))
    figures = {
        "n": "count(*)",
        "v": "sum(v)",
        "d": "avg(d)",
        "low": "min(s)",
        "dev": "stddev(v)",
        "of": "max_by(s, at)",
    }
    panes = timed.window(ms.hopping("3 days", every="12 hours", offset="5 hours"))
    panes.group_by("c", "k").agg(**figures, f="count(*) FILTER (WHERE v > 0)").to(topics.sink("panes"))
    panes.group_by("l").having("count(*) < 4").agg(n="count(v)").to(topics.sink("few", changelog=True))
    panes.agg(**figures).group_by("n").agg(days="count(*)", first="min(window_start)").to(topics.sink("of_panes"))
    # A sum that is taken back is the one that was sent, to the last bit.
    long = timed.window(ms.hopping("7 days", every="4 hours")).group_by("k")
    long.agg(d="sum(d)", n="count(*)", dev="stddev(d)").to(topics.sink("long", changelog=True))


@job(facts=200)
def sliding(job: ms.Job, topics: Topics) -> None:
    """Rows leave as the watermark moves on, a few days behind, and with it every result changes again."""
    timed = job.stream(topics.source("facts"), schema=FACTS, time="at", lateness="5 days")
    weeks = timed.window(ms.sliding("10 days"))
    figures = {"n": "count(*)", "v": "sum(v)", "d": "avg(d)", "low": "min(v)", "top": "max(s)", "last": "max(at)"}
    weeks.group_by("c", "k").agg(**figures).to(topics.sink("by_key"))
    weeks.agg(**figures).to(topics.sink("whole"))
    weeks.group_by("c").having("count(*) > 2").agg(n="count(*)", v="min(v)").to(topics.sink("many"))
    days = timed.window(ms.sliding("9 days")).group_by("l").agg(n="count(*)", e="sum(e)", first="min(at)")
    days.to(topics.sink("changes", changelog=True))
    # Shorter than what an epoch brings: most rows leave with the epoch in which they come.
    hours = timed.window(ms.sliding("7 hours"))
    more = {"u": "count(DISTINCT v)", "all": "collect_list(v)", "dev": "stddev(v)", "of": "max_by(s, at)"}
    hours.group_by("c").agg(**figures, **more, f="count(*) FILTER (WHERE v > 0)").to(
        topics.sink("hours", changelog=True)
    )
    hours.group_by("l").having("count(*) > 1").agg(n="count(v)").to(topics.sink("together"))


@job(facts=150, more=80)
def sessions(job: ms.Job, topics: Topics) -> None:
    """Rows come in any order, so that sessions grow at both ends and are joined all the time; the other source's
    time is when its rows were written, a few milliseconds apart."""
    timed = job.stream(topics.source("facts"), schema=FACTS, time="at", lateness="100 days")
    by_key = timed.window(ms.session("40 hours")).group_by("c", "k")
    figures = {"n": "count(*)", "v": "sum(v)", "d": "avg(d)", "e": "sum(e)", "low": "min(s)", "last": "max(at)"}
    by_key.agg(**figures, rate="count(*) / timestampdiff(HOUR, window_start, window_end)").to(topics.sink("by_key"))
    more = {
        "f": "count(*) FILTER (WHERE v > 0)",
        "u": "count(DISTINCT s)",
        "all": "collect_list(v)",
        "dev": "stddev(v)",
    }
    by_key.agg(n="count(v)", top="max(d)", of="max_by(s, at)", **more).to(topics.sink("changes", changelog=True))
    by_key.having("count(*) > 1").agg(v="sum(v)").to(topics.sink("longer"))
    whole = timed.where("c < 4").window(ms.session("3 hours")).agg(n="count(*)")
    whole.to(topics.sink("whole"))
    whole.group_by("n").agg(sessions="count(*)", first="min(window_start)").to(topics.sink("of_counts"))
    seen = job.stream(topics.source("more"), schema=FACTS, time=ms.processing_time("seen"), lateness="1 day")
    seen.window(ms.tumbling("2 ms")).agg(n="count(*)", v="sum(v)").to(topics.sink("seen"))
    seen.window(ms.session("1 ms")).group_by("c").agg(n="count(*)", last="max(seen)").to(topics.sink("bursts"))
    seen.window(ms.tumbling("2 ms")).late().to(topics.sink("none"))
