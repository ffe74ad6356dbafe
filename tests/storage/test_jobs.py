"""Jobs whose checkpoint, topics and files lie on each storage: they stop, go on, and lose nothing."""

from __future__ import annotations

import json
from collections import Counter

from pyspark.sql import SparkSession

import millstream as ms
from millstream import journal


def send(folder: str, numbers: range) -> None:
    with journal.producer(f"{folder}/journal", "numbers") as out:
        for n in numbers:
            out.send({"n": n, "third": n % 3})


def values(folder: str, topic: str) -> Counter[str]:
    return Counter(json.dumps(record.json(), sort_keys=True) for record in journal.read(f"{folder}/journal", topic))


def copying(folder: str) -> ms.Job:
    job = ms.Job("copy", checkpoint=f"{folder}/checkpoint")
    path = f"{folder}/journal"
    numbers = job.stream(journal.source("numbers", path=path, max_rows_per_epoch=40), schema="n BIGINT, third INT")
    numbers.where("n % 2 = 0").select("n").to(journal.sink("even", path=path))
    return job


def test_a_job_goes_on_where_it_was(folder: str, spark: SparkSession) -> None:
    for topic in ("numbers", "even"):
        journal.create(f"{folder}/journal", topic, 2)
    for numbers in (range(100), range(100, 200)):
        send(folder, numbers)
        copying(folder).run(ms.available_now(), spark=spark)
    assert values(folder, "even") == Counter(f'{{"n": {n}}}' for n in range(0, 200, 2))
