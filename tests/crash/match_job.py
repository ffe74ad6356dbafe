"""The match job as a process of its own, to be killed: `match_job.py JOURNAL CHECKPOINT MODE`."""

from __future__ import annotations

import sys

import millstream as ms
from millstream import files, journal
from millstream.spark import session
from millstream.testing.faults import MANAGER

QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m"}
"""These processes do not live long enough for the JVM's slow compiler to pay off."""
SCHEMA = "liker STRING, liked STRING, n BIGINT"


def match_job(path: str, checkpoint: str, rows_per_epoch: int | None = None) -> ms.Job:
    job = ms.Job("matches", checkpoint=checkpoint, parallelism=2)
    likes = job.stream(journal.source("likes", path=path, max_rows_per_epoch=rows_per_epoch), schema=SCHEMA)
    matches = (
        likes.as_("a")
        .join(likes.as_("b"), on="a.liker = b.liked AND a.liked = b.liker")
        .where("a.liker < a.liked")
        .select("a.liker", "a.liked", first="least(a.n, b.n)", second="greatest(a.n, b.n)")
    )
    matches.to(journal.sink("matches", path=path))
    matches.to(files.sink(f"{path}-files", format="parquet"), name="files")
    likes.group_by("liked").agg(likes="count(*)", last="max(n)").to(journal.sink("popular", path=path))
    return job


def main(path: str, checkpoint: str, mode: str) -> None:
    spark = session.make(8, 2, {**MANAGER, **QUICK})
    if mode == "real-time":
        match_job(path, checkpoint).run(ms.real_time("300 ms"), spark=spark)
    else:
        match_job(path, checkpoint, rows_per_epoch=300).run(ms.micro_batch("0 seconds"), spark=spark)


if __name__ == "__main__":
    main(*sys.argv[1:])
