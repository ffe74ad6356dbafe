"""Python steps on a cluster, first in a Python that lacks Millstream, then in this one."""

from __future__ import annotations

import sys
from typing import Any

from words import Pair, shout  # type: ignore[import-not-found]  # beside this script

import millstream as ms
from millstream import journal

MASTER, BARE = sys.argv[1:]


def steps(name: str) -> ms.Job:
    job = ms.Job(name)
    likes = job.stream(journal.source("likes"), schema="liker STRING, liked STRING")
    pairs = likes.map(lambda row: {"liker": shout(row.liker), "liked": row.liked}, "liker STRING, liked STRING")
    pairs.key_by("liked").process(Pair).to(journal.sink("matches"))
    return job


def tried(name: str, **options: Any) -> None:
    try:
        run = steps(name).run(ms.available_now(), on=ms.cluster(MASTER, **options))
        print(run.state.value)
    except ms.MillstreamError as error:
        print(error.text().replace("\n", " | "))


tried("disk")
tried("bare", shared_disk=True, conf={"spark.pyspark.python": BARE})
tried("whole", shared_disk=True, conf={"spark.pyspark.python": sys.executable})
