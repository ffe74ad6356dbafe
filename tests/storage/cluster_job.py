"""Sums and rows of a topic, into a topic and into files: all of it is where `PLACE` says."""

from __future__ import annotations

import os

import millstream as ms
from millstream import files, journal

PLACE = os.environ["PLACE"]
job = ms.Job("count", checkpoint=f"{PLACE}/checkpoint", parallelism=2)
source = journal.source("numbers", path=f"{PLACE}/journal", max_rows_per_epoch=100)
numbers = job.stream(source, schema="n BIGINT, third INT")
numbers.group_by("third").agg(n="count(*)", sum="sum(n)").to(journal.sink("thirds", path=f"{PLACE}/journal"))
numbers.select("n").to(journal.sink("even", path=f"{PLACE}/journal"))
numbers.to(files.sink(f"{PLACE}/rows", format="parquet", partition_by="third"))
