"""A checkpoint belongs to one job and one plan; what does not fit is refused, and the operator is named."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal
from millstream.runtime.identities import check_identities
from millstream.storage import CheckpointFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def path(tmp_path: Path) -> str:
    for topic in ("likes", "people", "out"):
        journal.create(tmp_path / "journal", topic, 1)
    with journal.producer(tmp_path / "journal", "likes") as producer:
        producer.send({"liker": "a", "liked": "b", "n": 1})
    return str(tmp_path / "journal")


def build(
    path: str, tmp_path: Path, *, name: str = "job", group: str = "liked", total: str = "count(*)", parallelism: int = 1
) -> ms.Job:
    job = ms.Job(name, checkpoint=str(tmp_path / "checkpoint"), parallelism=parallelism)
    likes = job.stream(journal.source("likes", path=path), schema="liker STRING, liked STRING, n BIGINT")
    likes.group_by(who=group).agg(n=total).named("popular").to(journal.sink("out", path=path))
    return job


def refused(job: ms.Job, spark: SparkSession) -> ms.MillstreamError:
    with pytest.raises(ms.MillstreamError) as error:
        job.run(ms.available_now(), spark=spark)
    return error.value


def test_of_another_job(path: str, tmp_path: Path, spark: SparkSession) -> None:
    build(path, tmp_path).run(ms.available_now(), spark=spark)
    error = refused(build(path, tmp_path, name="other"), spark)
    assert error.code == "MS-CHECKPOINT-001"
    assert 'is of job "job", not of "other"' in error.message


def test_of_an_incompatible_plan(path: str, tmp_path: Path, spark: SparkSession) -> None:
    build(path, tmp_path).run(ms.available_now(), spark=spark)
    error = refused(build(path, tmp_path, total="sum(n)"), spark)
    assert error.code == "MS-CHECKPOINT-002"
    assert error.message == 'step "popular" has saved state of another shape.'
    assert error.at is not None


def test_of_a_plan_without_the_operator(path: str, tmp_path: Path, spark: SparkSession) -> None:
    build(path, tmp_path).run(ms.available_now(), spark=spark)
    job = ms.Job("job", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
    job.stream(journal.source("likes", path=path), schema="liker STRING").to(journal.sink("out", path=path))
    assert refused(job, spark).message == 'step "popular" has saved state, and the job no longer has it.'


def test_with_other_sources(path: str, tmp_path: Path, spark: SparkSession) -> None:
    build(path, tmp_path).run(ms.available_now(), spark=spark)
    job = build(path, tmp_path)
    people = job.stream(journal.source("people", path=path), schema="liker STRING")
    people.to(journal.sink("out", path=path), name="second")
    error = refused(job, spark)
    assert error.code == "MS-CHECKPOINT-002"
    assert error.found == "saved: likes; now: likes, people"


def test_with_another_parallelism(path: str, tmp_path: Path, spark: SparkSession) -> None:
    build(path, tmp_path).run(ms.available_now(), spark=spark)
    assert refused(build(path, tmp_path, parallelism=2), spark).code == "MS-CHECKPOINT-003"


def test_a_folder_that_holds_something_else(path: str, tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "letter.txt").write_text("dear …")
    assert refused(build(path, tmp_path), spark).code == "MS-CHECKPOINT-001"
    assert (tmp_path / "checkpoint" / "letter.txt").read_text() == "dear …"


def test_of_another_format(path: str, tmp_path: Path, spark: SparkSession) -> None:
    build(path, tmp_path).run(ms.available_now(), spark=spark)
    about = tmp_path / "checkpoint" / "millstream.json"
    about.write_text(re.sub('"format": [0-9]+', '"format": 99', about.read_text()))
    assert refused(build(path, tmp_path), spark).code == "MS-CHECKPOINT-004"


def test_a_file_of_the_checkpoint_that_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "sources.json").write_text("")
    with pytest.raises(ms.MillstreamError) as error:
        check_identities((), CheckpointFolder(str(tmp_path)))
    assert error.value.code == "MS-CHECKPOINT-007"
