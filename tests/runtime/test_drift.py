"""Records that are not what they were, and rows that are too large."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
MANY = 70_000_000


@pytest.fixture
def path(tmp_path: Path) -> str:
    for topic in ("people", "bad", "out"):
        journal.create(tmp_path / "journal", topic, 1)
    return str(tmp_path / "journal")


def run(path: str, spark: SparkSession, schema: str, name: str = "name", **source: Any) -> list[Any]:
    job = ms.Job("copy", checkpoint=f"{path}-checkpoint", parallelism=1)
    people = job.stream(journal.source("people", path=path, **source), schema)
    people.select("id", name=name).to(journal.sink("out", path=path))
    job.run(ms.available_now(), spark=spark)
    return [record.json() for record in journal.read(path, "out")]


def test_records_with_other_fields(path: str, spark: SparkSession) -> None:
    """An empty topic, more fields, fewer fields; then each value that the type cannot hold is a record that is bad."""
    assert run(path, spark, "id INT, name STRING", dead_letters="bad") == []
    values = [
        '{"id": 1, "name": "a", "city": "rome"}',
        '{"id": 2}',
        '{"id": "three", "name": "c"}',
        '{"id": 99999999999, "name": "d"}',
        '{"id": 5.5, "name": "e"}',
        '{"id": 6, "name": "f"}',
    ]
    with journal.producer(path, "people") as producer:
        for value in values:
            producer.send(value)
    found = run(path, spark, "id INT, name STRING", dead_letters="bad")
    assert found == [{"id": 1, "name": "a"}, {"id": 2, "name": None}, {"id": 6, "name": "f"}]
    assert [record.json()["offset"] for record in journal.read(path, "bad")] == [2, 3, 4]


def test_a_topic_that_was_created_again(path: str, spark: SparkSession) -> None:
    """The job was further than the new topic is."""
    for names in ("abc", "d"):
        shutil.rmtree(Path(path) / "people")
        journal.create(path, "people", 1)
        with journal.producer(path, "people") as producer:
            for name in names:
                producer.send({"id": 1, "name": name})
        if names == "abc":
            assert len(run(path, spark, "id INT, name STRING")) == 3
    with pytest.raises(ms.MillstreamError) as error:
        run(path, spark, "id INT, name STRING")
    assert error.value.code == "MS-JOURNAL-004"


def test_a_row_that_is_too_large_for_the_journal(path: str, spark: SparkSession) -> None:
    """The job stops, and no restart policy tries in vain; started again with a step that cuts it, it goes on."""
    with journal.producer(path, "people") as producer:
        producer.send({"id": 1, "name": "a"})
    with pytest.raises(ms.MillstreamError) as error:
        run(path, spark, "id INT, name STRING", name=f"repeat(name, {MANY})")
    assert error.value.code == "MS-JOURNAL-008"
    assert run(path, spark, "id INT, name STRING", name="repeat(name, 3)") == [{"id": 1, "name": "aaa"}]
