"""Windows; so much lateness is allowed that no row is late, and the law is that of any aggregate."""

from __future__ import annotations

from inputs import FACTS
from jobs import job

import millstream as ms
from millstream.testing.oracle import Topics


@job(facts=150)
def windows(job: ms.Job, topics: Topics) -> None:
    timed = job.stream(topics.source("facts"), schema=FACTS, time="at", lateness="100 days")
    days = timed.window(ms.tumbling("1 day"))
    days.group_by("c", "k").agg(n="count(*)", v="sum(v)", top="max(s)").to(topics.sink("daily"))
    days.agg(n="count(*)").group_by("n").agg(days="count(*)").to(topics.sink("of_counts"))
    hopping = timed.where("v IS NOT NULL").window(ms.hopping("3 days", every="36 hours"), allowed_lateness="1 day")
    hopping.group_by("c").agg(v="min(v)", d="avg(v)").to(topics.sink("hopping"))
