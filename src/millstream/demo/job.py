"""The demo's job: a like that meets its opposite is a match."""

from __future__ import annotations

from pathlib import Path

from millstream import journal
from millstream.api.job import Job

PARTITIONS = 2


def match_job(folder: Path, name: str) -> Job:
    """Writes its matches to the topic that has the job's name."""
    path = str(folder / "journal")
    job = Job(name, checkpoint=str(folder / "checkpoint"))
    likes = job.stream(
        journal.source("likes", path=path), schema="liker STRING, liked STRING, at TIMESTAMP, sent BIGINT"
    )
    matches = (
        likes.as_("a")
        .join(likes.as_("b"), on="a.liker = b.liked AND a.liked = b.liker")
        .where("a.liker < a.liked")
        # `sent` is when the second of the two likes was sent: latency counts from there.
        .select("a.liker", "a.liked", at="greatest(a.at, b.at)", sent="greatest(a.sent, b.sent)")
    )
    matches.to(journal.sink(name, path=path))
    return job
