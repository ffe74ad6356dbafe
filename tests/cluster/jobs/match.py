"""Likes that are returned, and how many each person has. Run by spark-submit or `millstream run`."""

from __future__ import annotations

import millstream as ms
from millstream import journal


def match_job(shared_disk: bool = False) -> ms.Job:
    job = ms.Job("matches", parallelism=2, shared_disk=shared_disk)
    likes = job.stream(journal.source("likes"), schema="liker STRING, liked STRING")
    matches = likes.as_("a").join(likes.as_("b"), on="a.liker = b.liked AND a.liked = b.liker")
    matches.where("a.liker < a.liked").select("a.liker", "a.liked").to(journal.sink("matches"))
    likes.group_by("liked").agg(likes="count(*)").to(journal.sink("popular"))
    return job


if __name__ == "__main__":
    match_job(shared_disk=True).run(ms.batch())
else:
    job = match_job()
