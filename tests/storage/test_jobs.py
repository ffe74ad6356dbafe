"""Jobs whose checkpoint, topics and files are on each storage: they stop, continue, and lose nothing."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

import millstream as ms
from millstream import files, journal
from millstream.runtime.run import Run
from millstream.storage import files_at

PATIENCE = 180
"""Seconds after which something hangs: not a measure of speed."""


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


def counting(folder: str) -> ms.Job:
    """With state, and with a table that is kept right in a topic."""
    job = ms.Job("count", checkpoint=f"{folder}/checkpoint")
    path = f"{folder}/journal"
    numbers = job.stream(journal.source("numbers", path=path), schema="n BIGINT, third INT")
    numbers.group_by("third").agg(n="count(*)", sum="sum(n)").to(journal.sink("thirds", path=path))
    numbers.select("n").to(journal.sink("even", path=path))
    return job


def latest(folder: str, topic: str) -> dict[int, dict[str, Any]]:
    return {record.json()["third"]: record.json() for record in journal.read(f"{folder}/journal", topic)}


def test_a_job_goes_on_where_it_was(folder: str, spark: SparkSession) -> None:
    for topic in ("numbers", "even"):
        journal.create(f"{folder}/journal", topic, 2)
    for numbers in (range(100), range(100, 200)):
        send(folder, numbers)
        copying(folder).run(ms.available_now(), spark=spark)
    assert values(folder, "even") == Counter(f'{{"n": {n}}}' for n in range(0, 200, 2))


def test_state_is_kept(folder: str, spark: SparkSession) -> None:
    for topic in ("numbers", "even", "thirds"):
        journal.create(f"{folder}/journal", topic, 1)
    for numbers in (range(100), range(100, 200), range(200, 300)):
        send(folder, numbers)
        counting(folder).run(ms.available_now(), spark=spark)
    thirds = [[n for n in range(300) if n % 3 == third] for third in range(3)]
    expected = {third: {"third": third, "n": 100, "sum": sum(thirds[third])} for third in range(3)}
    assert latest(folder, "thirds") == expected
    assert values(folder, "even") == Counter(f'{{"n": {n}}}' for n in range(300))


def filing(folder: str) -> ms.Job:
    job = ms.Job("file", checkpoint=f"{folder}/checkpoint")
    source = journal.source("numbers", path=f"{folder}/journal", max_rows_per_epoch=60)
    numbers = job.stream(source, schema="n BIGINT, third INT")
    numbers.to(files.sink(f"{folder}/rows", format="parquet", partition_by="third"))
    numbers.select("n").to(files.sink(f"{folder}/lines", format="json"), name="lines")
    return job


def test_files_are_written_once(folder: str, spark: SparkSession) -> None:
    journal.create(f"{folder}/journal", "numbers", 2)
    for numbers in (range(100), range(100, 200)):
        send(folder, numbers)
        filing(folder).run(ms.available_now(), spark=spark)
    rows = spark.read.parquet(f"{folder}/rows").select("n", "third").collect()
    assert Counter((row.n, row.third) for row in rows) == Counter((n, n % 3) for n in range(200))
    assert Counter(row.n for row in spark.read.json(f"{folder}/lines").collect()) == Counter(range(200))
    listed = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(f"{folder}/lines")
    whole = manifests(folder)
    assert sorted(whole) == sorted(row.path.split("/lines/")[1] for row in listed.select("path").collect())


def manifests(folder: str) -> list[str]:
    """The files of epochs that are whole."""
    at = files_at(folder)
    found = []
    for epoch in (name for name in at.names(f"{folder}/lines") if name.startswith("epoch=")):
        text = at.read(f"{folder}/lines/{epoch}/_manifest.json")
        assert text is not None
        found += [f"{epoch}/{file}" for file in json.loads(text)["files"]]
    return found


@pytest.mark.slow
def test_in_real_time(folder: str, spark: SparkSession) -> None:
    """A run is stopped and another continues; what comes while it runs is seen as soon as it is there."""
    for topic in ("numbers", "even", "thirds"):
        journal.create(f"{folder}/journal", topic, 1)
    for first in (0, 100):
        run = counting(folder).start(ms.real_time("500 ms"), spark=spark)
        for begin in (first, first + 50):
            send(folder, range(begin, begin + 50))
            wait(run, lambda: len(values(folder, "even")) >= begin + 50)  # noqa: B023
        run.stop()
    assert values(folder, "even") == Counter(f'{{"n": {n}}}' for n in range(200))
    assert {row["n"] for row in latest(folder, "thirds").values()} == {66, 67}


def wait(run: Run, until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not until():
        assert not run.poll(0.1)
        assert time.monotonic() < deadline, "nothing happens any more"
