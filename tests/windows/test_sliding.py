"""Sliding windows hold what lies within their size before the group's latest row, or before the watermark if that is
later: whatever comes in one epoch, and in whatever order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.testing import Watermark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.testing import Runner
    from millstream.testing.given import Item

SCHEMA = "card STRING, n INT, at TIMESTAMP"


def at(minute: int, second: int = 0) -> str:
    return f"2026-01-01T{minute // 60:02d}:{minute % 60:02d}:{second:02d}.000000Z"


def row(card: str, n: int, minute: int, second: int = 0) -> dict[str, Any]:
    return {"card": card, "n": n, "at": at(minute, second)}


def build(size: str = "1 minute", lateness: str = "5 seconds", **where: Any) -> ms.Job:
    job = ms.Job("cards", parallelism=1)
    uses = job.stream(journal.source("uses", **where), SCHEMA, time="at", lateness=lateness)
    window = uses.window(ms.sliding(size))
    by_card = window.group_by("card").agg(uses="count(*)", n="sum(n)", low="min(n)")
    by_card.to(journal.sink("by_card", **where, changelog=True))
    window.agg(uses="count(*)", low="min(n)").to(journal.sink("all", **where, changelog=True))
    return job


BACKLOG = [row("a", n, 5 * n) for n in range(4)]
LAST = {"card": "a", "uses": 1, "n": 3, "low": 3}


def test_a_backlog_in_one_epoch(millstream: Runner) -> None:
    """Five minutes apart: never more than one within a minute."""
    result = millstream.run(build(), {"uses": [BACKLOG, []]})
    assert result["by_card"].epochs[0] == [LAST]
    assert result["all"].epochs[0] == [{"uses": 1, "low": 3}]
    assert result["by_card"].tables == [[LAST]] * 2


def test_a_backlog_in_a_batch(millstream: Runner) -> None:
    result = millstream.run(build(), {"uses": BACKLOG}, mode=ms.batch())
    assert result["by_card"].tables == [[LAST]]


def journal_of(folder: Path, rows: list[dict[str, Any]]) -> str:
    path = str(folder / "journal")
    for topic in ("uses", "by_card", "all"):
        journal.create(path, topic, 1)
    with journal.producer(path, "uses") as producer:
        for one in rows:
            producer.send(one)
    return path


def test_a_backlog_that_is_worked_off(spark: SparkSession, tmp_path: Path) -> None:
    path = journal_of(tmp_path, BACKLOG)
    job = build(path=path)
    job.checkpoint = str(tmp_path / "checkpoint")
    job.run(ms.available_now(), spark=spark)
    assert [record.json()["uses"] for record in journal.read(path, "by_card")] == [1]


@pytest.mark.slow
def test_a_backlog_in_real_time(spark: SparkSession, tmp_path: Path) -> None:
    """Row by row: each takes the place of those that it left behind, in one change."""
    path = journal_of(tmp_path, BACKLOG)
    job = build(path=path)
    job.checkpoint = str(tmp_path / "checkpoint")
    run = job.start(ms.real_time("1 second"), spark=spark)
    try:
        while not (records := [record.json() for record in journal.read(path, "by_card")])[6:]:
            assert not run.poll(0.1)
    finally:
        run.stop()
    told = [(one["op"], one["uses"], one["n"]) for one in records]
    expected = [("insert", 1, 0)]
    for n in (1, 2, 3):
        expected += [("delete", 1, n - 1), ("insert", 1, n)]
    assert told == expected


@pytest.mark.slow
@pytest.mark.parametrize("restart", [False, True])
def test_rows_in_any_order(millstream: Runner, restart: bool) -> None:
    """A row that is older than the size when it comes is not late, unless the watermark says so: it has left."""
    epochs: list[list[Item]] = [
        [row("a", 1, 10), row("a", 2, 8), row("a", 3, 9, 30), row("b", 1, 8)],
        [row("a", 4, 9, 1), row("a", 5, 9)],
        [row("a", 6, 10, 30), row("b", 2, 8, 30)],
        [row("a", 7, 9, 45)],
        [Watermark(at(11, 29)), row("a", 8, 3)],
        [Watermark(at(11, 30))],
    ]
    result = millstream.run(build(lateness="5 minutes"), {"uses": epochs}, restart_between=restart)
    found = [{one["card"]: (one["uses"], one["n"]) for one in table} for table in result["by_card"].tables]
    assert found == [
        {"a": (2, 4), "b": (1, 1)},
        {"a": (3, 8), "b": (1, 1)},  # The one exactly a minute before the latest has left.
        {"a": (2, 7), "b": (2, 3)},
        {"a": (3, 14), "b": (2, 3)},
        {"a": (1, 6)},
        {},
    ]
    (late,) = {count for name, count in result.late.items() if count}
    assert late == 1


@pytest.mark.slow
@pytest.mark.parametrize("restart", [False, True])
def test_many_rows_of_a_group(millstream: Runner, restart: bool) -> None:
    """More than are kept in one value."""
    rows = [row("a", n, n // 60, n % 60) for n in range(300)]
    epochs = [rows[:100], rows[100:130], rows[130:131], rows[131:], []]
    result = millstream.run(build(), {"uses": epochs}, restart_between=restart)
    found = [(one["uses"], one["low"], one["n"]) for table in result["by_card"].tables for one in table]
    assert found == [(60, last - 59, sum(range(last - 59, last + 1))) for last in (99, 129, 130, 299, 299)]
    assert [one["low"] for table in result["all"].tables for one in table] == [40, 70, 71, 240, 240]
