"""Time is data: rows, epoch by epoch, and which of them are let through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.testing import Watermark

if TYPE_CHECKING:
    from millstream.testing import Runner
    from millstream.testing.given import Item


def at(minute: int) -> str:
    return f"2026-01-01T{minute // 60:02d}:{minute % 60:02d}:00Z"


def job(lateness: str = "5 minutes", keep: str = "first") -> ms.Job:
    job = ms.Job("clicks")
    clicks = job.stream(journal.source("clicks"), schema="id INT, at TIMESTAMP", time="at", lateness=lateness)
    clicks.dedup("id", within="10 minutes", keep=keep).named("dedup").to(journal.sink("once"))
    return job


def rows(*minutes: int, id: int = 1) -> list[dict[str, Any]]:
    return [{"id": id, "at": at(minute)} for minute in minutes]


def minutes(epochs: Sequence[Sequence[dict[str, Any]]]) -> list[list[int]]:
    times = [[row["at"] for row in epoch] for epoch in epochs]
    return [[int(text[11:13]) * 60 + int(text[14:16]) for text in epoch] for epoch in times]


@pytest.mark.parametrize("restart", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_doubles_are_dropped_whichever_comes_first(millstream: Runner, restart: bool) -> None:
    told = [rows(20, 30, 31, 25), rows(20), rows(12, 9), rows(41, 42), [*rows(30, id=2), *rows(30, id=2)]]
    result = millstream.run(job("1 hour"), {"clicks": told}, restart_between=restart)
    # 30 is within ten minutes of 20, and so is 12; 9 is not. 31 was let through, so 41 is a duplicate and 42 is not.
    assert minutes(result["once"].epochs) == [[20, 31], [], [9], [42], [30]]


def test_one_row_of_several_in_an_epoch_is_the_first_by_time(millstream: Runner) -> None:
    result = millstream.run(job(), {"clicks": [rows(9, 8, 7, 7), rows(18)]})
    assert minutes(result["once"].epochs) == [[7], [18]]


def test_rows_too_late_to_be_judged_are_counted(millstream: Runner) -> None:
    told: list[Sequence[Item]] = [rows(60), [Watermark(at(60))], rows(51, id=2), rows(50, id=3), rows(52)]
    result = millstream.run(job(), {"clicks": told})
    assert minutes(result["once"].epochs) == [[60], [], [51], [], []]
    assert sum(result.late.values()) == 1


@pytest.mark.parametrize("restart", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_is_forgotten_was_too_late_to_matter(millstream: Runner, restart: bool) -> None:
    """When the watermark is twice as far, a row of the old time is late and a new one is let through."""
    told: list[Sequence[Item]] = [rows(60), [Watermark(at(80))], rows(61), rows(90)]
    result = millstream.run(job(), {"clicks": told}, restart_between=restart)
    assert minutes(result["once"].epochs) == [[60], [], [], [90]]
    assert sum(result.late.values()) == 1


@pytest.mark.parametrize("restart", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_last_of_rows_that_follow_one_another_comes_when_no_other_can(millstream: Runner, restart: bool) -> None:
    told: list[Sequence[Item]] = [
        rows(20, 30),
        rows(40, 51),
        rows(25, 45),
        [Watermark(at(55))],
        [{"id": 1, "at": "2026-01-01T00:45:00.001Z"}],
    ]
    told += [[Watermark("2026-01-01T00:55:00.001Z")], [Watermark(at(62))], rows(62, id=2)]
    result = millstream.run(job("1 hour", "last"), {"clicks": told}, restart_between=restart)
    # Each is followed within ten minutes, but 51, which may be until the watermark is past 61.
    assert minutes(result["once"].epochs) == [[], [], [], [], [], [], [51], []]
    assert result.late == {"dedup": 0}
    batch = millstream.run(job("1 hour", "last"), {"clicks": [part for part in told if part]}, mode=ms.batch())
    assert sorted(minutes(batch["once"].epochs)[0]) == [51, 62]


def test_rows_that_should_have_gone_out_already_are_late(millstream: Runner) -> None:
    """One that comes after the one before it went out, but before it would have to go out itself, goes out, too."""
    told: list[Sequence[Item]] = [
        rows(20),
        [Watermark(at(31))],
        rows(20),
        rows(21, id=2),
        rows(25),
        [Watermark(at(36))],
    ]
    result = millstream.run(job("1 hour", "last"), {"clicks": told})
    assert [sorted(part) for part in minutes(result["once"].epochs)] == [[], [20], [], [], [], [21, 25]]
    assert result.late == {"dedup": 1}


def test_of_rows_of_the_same_time_the_last_by_all_columns_is_left(millstream: Runner) -> None:
    job = ms.Job("clicks")
    clicks = job.stream(journal.source("clicks"), schema="id INT, v INT, at TIMESTAMP", time="at")
    clicks.dedup("id", within="0 seconds", keep="last").to(journal.sink("once"))
    told: list[Sequence[Item]] = [[{"id": 1, "v": v, "at": at(1)} for v in (2, 3, 1)], [Watermark(at(2))]]
    for mode in (None, ms.batch()):
        assert [row["v"] for row in millstream.run(job, {"clicks": told}, mode=mode)["once"].rows] == [3]
