"""Records that cannot be read: fail and name them, skip and count them, or send them to their own topic."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "id BIGINT, name STRING"
BAD = ['{"id": "seven"}', "not json", '["a", "list"]', "", '{"id": 1, "name": "a"} {"id": 2, "name": "b"}']


@pytest.fixture
def path(tmp_path: Path) -> str:
    journal.create(tmp_path / "journal", "people", 1)
    journal.create(tmp_path / "journal", "out", 1)
    journal.create(tmp_path / "journal", "bad", 1)
    return str(tmp_path / "journal")


def send(path: str, *values: str | None) -> None:
    with journal.producer(path, "people") as producer:
        for value in values:
            producer.send(value, key="k")


def written(path: str, topic: str = "out") -> list[dict[str, object]]:
    return [json.loads(record.value or b"") for record in journal.read(path, topic)]


def job(path: str, tmp_path: Path, source: journal.JournalSource) -> ms.Job:
    made = ms.Job("copy", checkpoint=str(tmp_path / "checkpoint"))
    # A filter that would hide the bad records if it ran before they are found.
    made.stream(source, schema=SCHEMA).where("name IS NOT NULL").to(journal.sink("out", path=path))
    return made


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("mode", [ms.available_now(), ms.batch()])
def test_fail_names_topic_partition_and_offset(
    bad: str, mode: ms.Mode, path: str, tmp_path: Path, spark: SparkSession
) -> None:
    send(path, '{"id": 1, "name": "a"}', bad)
    with pytest.raises(ms.MillstreamError) as failed:
        job(path, tmp_path, journal.source("people", path=path)).run(mode, spark=spark)
    assert failed.value.code == "MS-DECODE-001"
    assert 'the record at offset 1 of topic "people", partition 0' in failed.value.message
    assert failed.value.at is not None
    assert failed.value.at.file.endswith("test_bad_records.py")
    assert written(path) == [], "an epoch that failed shows nothing"


@pytest.mark.slow
def test_in_real_time_the_record_is_named_whichever_task_spark_tells_of(
    path: str, tmp_path: Path, spark: SparkSession
) -> None:
    """A task that fails closes its shuffle, on which those that read from it fail, and one of these may be first."""
    made = ms.Job("counts", checkpoint=str(tmp_path / "checkpoint"), parallelism=2)
    rows = made.stream(journal.source("people", path=path), schema=SCHEMA)
    rows.group_by("name").agg(n="count(*)").to(journal.sink("out", path=path))
    run = made.start(ms.real_time("500 ms"), spark=spark)
    send(path, '{"id": 1, "name": "a"}')
    while not written(path):
        run.poll(0.1)
    send(path, "not json")
    assert run._query is not None
    while run._query.query.isActive:
        time.sleep(0.05)
    with pytest.raises(ms.MillstreamError) as failed:
        run._failed(RuntimeError("Connection to streaming shuffle writer closed"))
    assert failed.value.code == "MS-DECODE-001"
    assert 'the record at offset 1 of topic "people", partition 0' in failed.value.message


def test_a_fail_loses_nothing(path: str, tmp_path: Path, spark: SparkSession) -> None:
    """Once the record can be dealt with, the job continues where it was."""
    send(path, '{"id": 1, "name": "a"}', "not json", '{"id": 2, "name": "b"}')
    with pytest.raises(ms.MillstreamError):
        job(path, tmp_path, journal.source("people", path=path)).run(ms.available_now(), spark=spark)
    job(path, tmp_path, journal.source("people", path=path, on_error="skip")).run(ms.available_now(), spark=spark)
    assert written(path) == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]


def test_skip_counts(path: str, tmp_path: Path, spark: SparkSession) -> None:
    send(path, '{"id": 1, "name": "a"}', *BAD, None, '{"id": 2, "name": "b"}')
    run = job(path, tmp_path, journal.source("people", path=path, on_error="skip")).start(
        ms.available_now(), spark=spark
    )
    run.wait()
    assert [row["id"] for row in written(path)] == [1, 2]
    assert run.skipped() == {"people": len(BAD) + 1}


def test_dead_letters(path: str, tmp_path: Path, spark: SparkSession) -> None:
    send(path, '{"id": 1, "name": "a"}', *BAD, '{"id": 2, "name": "b"}')
    job(path, tmp_path, journal.source("people", path=path, dead_letters="bad")).run(ms.available_now(), spark=spark)
    assert [row["id"] for row in written(path)] == [1, 2]
    letters = written(path, "bad")
    assert [(letter["topic"], letter["partition"], letter["offset"]) for letter in letters] == [
        ("people", 0, offset) for offset in range(1, len(BAD) + 1)
    ]
    assert all(letter["reason"] for letter in letters)
    assert written(path, "bad")[1]["value"] == "bm90IGpzb24=", "the record itself, as base64"


def test_raw_records(path: str, tmp_path: Path, spark: SparkSession) -> None:
    send(path, "anything", '{"id": 1}')
    made = ms.Job("copy", checkpoint=str(tmp_path / "checkpoint"))
    records = made.stream(journal.source("people", path=path, format="raw"))
    records.select("key", value="CAST(concat(CAST(value AS STRING), '!') AS BINARY)").to(
        journal.sink("out", path=path, format="raw")
    )
    made.run(ms.available_now(), spark=spark)
    assert [(record.key, record.value) for record in journal.read(path, "out")] == [
        (b"k", b"anything!"),
        (b"k", b'{"id": 1}!'),
    ]
