"""NULL in a key is a value like any other: from table to topic to table, with deletes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import millstream as ms
from millstream import journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_there_and_back(tmp_path: Path, spark: SparkSession) -> None:
    path = str(tmp_path / "journal")
    for topic in ("rows", "middle", "out"):
        journal.create(path, topic, 1)

    def run(*rows: dict[str, object]) -> dict[bytes | None, object]:
        with journal.producer(path, "rows") as producer:
            for row in rows:
                producer.send(row)
        one = ms.Job("one", checkpoint=str(tmp_path / "one"))
        counted = one.stream(journal.source("rows", path=path), "a INT, b STRING").group_by("a", "b").agg(n="count(*)")
        counted.where("n < 2").to(journal.sink("middle", path=path))
        one.run(ms.available_now(), spark=spark)
        other = ms.Job("other", checkpoint=str(tmp_path / "other"))
        table = other.table(journal.source("middle", path=path), "a INT, b STRING, n INT", key=("a", "b"))
        table.to(journal.sink("out", path=path))
        other.run(ms.available_now(), spark=spark)
        last = {record.key: record.value for record in journal.read(path, "out")}
        return {key: json.loads(value) for key, value in last.items() if value is not None}

    assert run({"a": 1}, {"b": "x"}, {}, {"a": 1, "b": "x"}) == {
        b'{"a":1,"b":null}': {"a": 1, "b": None, "n": 1},
        b'{"a":null,"b":"x"}': {"a": None, "b": "x", "n": 1},
        b'{"a":null,"b":null}': {"a": None, "b": None, "n": 1},
        b'{"a":1,"b":"x"}': {"a": 1, "b": "x", "n": 1},
    }
    assert run({"a": 1}, {"b": "x"}, {}) == {b'{"a":1,"b":"x"}': {"a": 1, "b": "x", "n": 1}}


def test_a_column_that_a_key_leaves_out_is_null(tmp_path: Path, spark: SparkSession) -> None:
    """As others write it. A key with other columns alone is the key of something else."""
    path = str(tmp_path / "journal")
    for topic in ("rows", "out", "bad"):
        journal.create(path, topic, 1)
    with journal.producer(path, "rows") as producer:
        producer.send({"a": 1}, key={"a": 1})
        producer.send({"a": 2}, key={"a": 2})
        producer.send(None, key={"a": 1})
        producer.send(None, key={"c": 1})
    job = ms.Job("left_out", checkpoint=str(tmp_path / "checkpoint"))
    table = job.table(journal.source("rows", path=path, dead_letters="bad"), "a INT, b STRING", key=("a", "b"))
    table.to(journal.sink("out", path=path))
    job.run(ms.available_now(), spark=spark)
    assert [record.json() for record in journal.read(path, "out")] == [{"a": 2, "b": None}]
    assert ["key lacks a, b" in str(record.value) for record in journal.read(path, "bad")] == [True]
