"""Rows that people may look at while a job runs: a few of each source, operator and sink, and none by default."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.plan.cluster import SHOWS_ROWS
from tests.metrics.polling import poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run


@pytest.fixture
def path(tmp_path: Path) -> str:
    for topic in ("likes", "counts", "all"):
        journal.create(tmp_path / "journal", topic, 1)
    return str(tmp_path / "journal")


@pytest.fixture
def shown(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set(SHOWS_ROWS, "true")
    yield spark
    spark.conf.unset(SHOWS_ROWS)


def counting(path: str, tmp_path: Path) -> ms.Job:
    job = ms.Job("likes", checkpoint=str(tmp_path / "likes"))
    likes = job.stream(journal.source("likes", path=path), "liker STRING, price DECIMAL(9,2), at TIMESTAMP")
    likes.group_by("liker").agg(n="count(*)", paid="sum(price)").named("counted").to(journal.sink("counts", path=path))
    likes.where("price > 5").select("liker", "price * 2 AS twice").to(journal.sink("all", path=path))
    return job


def like(path: str, first: int, last: int) -> None:
    with journal.producer(path, "likes") as producer:
        for n in range(first, last):
            producer.send({"liker": f"p{n}", "price": n, "at": "2026-01-01T00:00:00Z"})


def rows(run: Run, box: str) -> list[dict[str, Any]]:
    return [json.loads(line["row"]) for line in run.rows().get(box, [])]


MODES: dict[str, ms.Mode] = {"micro_batch": ms.micro_batch("100 ms"), "real_time": ms.real_time("300 ms")}


@pytest.mark.parametrize("mode", MODES)
def test_the_last_rows_of_each(path: str, tmp_path: Path, shown: SparkSession, mode: str) -> None:
    run = counting(path, tmp_path).start(MODES[mode], spark=shown)
    like(path, 0, 3)
    poll(run, lambda _: len(rows(run, "sink:counts")) >= 3)
    like(path, 3, 9)
    poll(run, lambda _: "p8" in {row["liker"] for row in rows(run, "sink:all")})
    poll(run, lambda _: "p8" in {row["liker"] for row in rows(run, "operator:counted")})
    read = next(row for row in rows(run, "source:likes") if row["liker"] == "p1")
    assert (read["price"], read["at"]) == (1.0, "2026-01-01T00:00:00.000Z")
    assert {"liker": "p1", "n": 1, "paid": 1.0} in rows(run, "sink:counts")
    assert {"liker": "p8", "twice": 16.0} in rows(run, "sink:all")
    sent = next(row for row in rows(run, "operator:counted") if row["liker"] == "p1")
    assert (sent["n"], sent["paid"]) == (1, 1.0)
    assert all(line["weight"] == 1 for lines in run.rows().values() for line in lines)
    assert all(len(lines) <= 20 for lines in run.rows().values())
    run.stop()


def test_none_by_default(path: str, tmp_path: Path, spark: SparkSession) -> None:
    like(path, 0, 3)
    run = counting(path, tmp_path).start(ms.available_now(), spark=spark)
    run.wait()
    assert run.metrics().sink("counts").rows == 3
    assert run.rows() == {}


def test_many_rows_are_not_all_kept(path: str, tmp_path: Path, shown: SparkSession) -> None:
    like(path, 0, 500)
    run = counting(path, tmp_path).start(ms.available_now(), spark=shown)
    run.wait()
    # Five by each task, and a few more if that took longer than a second.
    assert 5 <= len(run.rows()["source:likes"]) <= 20
    assert len(run.rows()["operator:counted"]) <= 20
