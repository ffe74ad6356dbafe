"""A Python step on a cluster whose Python has only what is sent along."""

from __future__ import annotations

import sys

from words import Pair  # type: ignore[import-not-found]  # beside this script

import millstream as ms
from millstream import journal

MASTER, BARE = sys.argv[1:]
job = ms.Job("packed", shared_disk=True)
likes = job.stream(journal.source("likes"), schema="liker STRING, liked STRING")
likes.key_by("liked").process(Pair).to(journal.sink("matches"))
try:
    job.run(ms.available_now(), on=ms.cluster(MASTER, conf={"spark.pyspark.python": "/nowhere/python"}))
except ms.MillstreamError as error:
    print(f"{error.code}: {error.message}")
on = ms.cluster(MASTER, environment="env.tar.gz", conf={"spark.executorEnv.MILLSTREAM_PYTHON": BARE})
print(job.run(ms.available_now(), on=on).state.value)
