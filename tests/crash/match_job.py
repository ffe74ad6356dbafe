"""The match job, to be killed: see `serve.py`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import millstream as ms
from millstream import files, journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run

SCHEMA = "liker STRING, liked STRING, n BIGINT"


def match_job(folder: str, likes_path: str, rows_per_epoch: int | None = None) -> ms.Job:
    job = ms.Job("matches", checkpoint=f"{folder}/checkpoint", parallelism=2)
    path = f"{folder}/journal"
    likes = job.stream(journal.source("likes", path=likes_path, max_rows_per_epoch=rows_per_epoch), schema=SCHEMA)
    matches = (
        likes.as_("a")
        .join(likes.as_("b"), on="a.liker = b.liked AND a.liked = b.liker")
        .where("a.liker < a.liked")
        .select("a.liker", "a.liked", first="least(a.n, b.n)", second="greatest(a.n, b.n)")
    )
    matches.to(journal.sink("matches", path=path))
    matches.to(files.sink(f"{folder}/files", format="parquet"), name="files")
    likes.group_by("liked").agg(likes="count(*)", last="max(n)").to(journal.sink("popular", path=path))
    return job


def start(spark: SparkSession, folder: str, mode: str, at: str | None = None, likes: str | None = None) -> Run:
    """Likes come from a journal beside the folder: they keep coming while a run is stopped. `at` and `likes`: where
    both are on another storage."""
    place, source = at or folder, likes or str(Path(folder).parent / "likes")
    if mode == "real-time":
        # On remote storage there is a pause between two epochs, so epochs should be long.
        every = "2 seconds" if at else "300 ms"
        return match_job(place, source).start(ms.real_time(every), spark=spark)
    return match_job(place, source, rows_per_epoch=300).start(ms.micro_batch("0 seconds"), spark=spark)
