"""The demo's job: a like that meets its opposite within an hour is a match."""

from __future__ import annotations

from pathlib import Path

from millstream import journal
from millstream.api.job import Job

PARTITIONS = 2
SOON = "b.at BETWEEN a.at - INTERVAL 1 HOUR AND a.at + INTERVAL 1 HOUR"
"""Older likes are forgotten. As part of the condition it holds for the batch run, too, however long the demo lasts."""


def match_job(folder: Path, name: str) -> Job:
    """Writes its matches to the topic that has the job's name."""
    path = str(folder / "journal")
    job = Job(name, checkpoint=str(folder / "checkpoint"))
    likes = job.stream(
        journal.source("likes", path=path), schema="liker STRING, liked STRING, at TIMESTAMP, sent BIGINT", time="at"
    )
    matches = (
        likes.as_("a")
        .join(likes.as_("b"), on=f"a.liker = b.liked AND a.liked = b.liker AND {SOON}")
        .where("a.liker < a.liked")
        # `sent` is when the second of the two likes was sent: latency counts from there.
        .select("a.liker", "a.liked", at="greatest(a.at, b.at)", sent="greatest(a.sent, b.sent)")
    )
    matches.to(journal.sink(name, path=path))
    return job
