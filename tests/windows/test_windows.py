"""Time is data: rows, epoch by epoch, and what the windows say."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.testing import Record, Watermark

if TYPE_CHECKING:
    from millstream.testing import Runner


def at(minute: int, second: int = 0) -> str:
    return f"2026-01-01T00:{minute:02d}:{second:02d}.000000Z"


DAY = datetime(2026, 1, 1, tzinfo=UTC)


def stamp(minute: int) -> str:
    return f"{DAY + timedelta(minutes=minute):%Y-%m-%dT%H:%M:%S.%fZ}"


SCHEMA = "at TIMESTAMP, host STRING, cpu INT"


def job(lateness: str = "0 seconds", **window: Any) -> ms.Job:
    job = ms.Job("metrics")
    windows = job.stream(journal.source("metrics"), SCHEMA, time="at", lateness=lateness).window(**window)
    windows.late().to(journal.sink("late"))
    cpu = windows.group_by("host").agg(n="count(*)", top="max(cpu)").named("cpu")
    cpu.to(journal.sink("changes"))
    cpu.final().named("closed").to(journal.sink("final"))
    return job


def metric(moment: str | None, host: str, cpu: int) -> dict[str, Any]:
    return {"at": moment, "host": host, "cpu": cpu}


def epochs(*rows: tuple[str | None, str, int]) -> dict[str, Any]:
    """Each row is an epoch of its own."""
    return {"metrics": [[metric(*row)] for row in rows]}


COLUMNS = ("window_start", "window_end", "host", "n", "top")


def windows(epochs: Sequence[Sequence[Any]]) -> list[list[tuple[Any, ...]]]:
    """The rows of each epoch; not the keys that were deleted."""
    return [sorted(tuple(row[name] for name in COLUMNS) for row in rows if isinstance(row, dict)) for rows in epochs]


@pytest.mark.parametrize("restart", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_final_results_come_once_when_the_watermark_passes(millstream: Runner, restart: bool) -> None:
    rows = epochs(
        (at(0, 10), "a", 1), (at(0, 50), "a", 2), (at(1, 5), "a", 3), (at(0, 59), "a", 4), (at(1, 31), "b", 7)
    )
    result = millstream.run(job("30 seconds", window=ms.tumbling("1 minute")), rows, restart_between=restart)
    closed = (at(0), at(1), "a", 3, 4)
    # The watermark is at 0:35 after the third and the fourth epoch, and at 1:01 after the last.
    assert windows(result["final"].epochs) == [[], [], [], [], [closed]]
    assert windows(result["changes"].epochs)[3] == [closed]
    assert result.late == {"cpu": 0, "closed": 0}


def test_late_rows_are_counted_and_change_nothing(millstream: Runner) -> None:
    rows = epochs((at(0, 10), "a", 1), (at(2), "a", 2), (at(0, 20), "a", 99), (at(2, 1), "b", 3))
    result = millstream.run(job(window=ms.tumbling("1 minute")), rows)
    assert windows(result["final"].epochs) == [[], [(at(0), at(1), "a", 1, 1)], [], []]
    assert result.late == {"cpu": 1, "closed": 1}
    late = {**metric(at(0, 20), "a", 99), "window_start": at(0), "window_end": at(1)}
    assert result["late"].epochs == [[], [], [late], []]


def test_time_goes_on_with_rows_that_are_filtered_out(millstream: Runner) -> None:
    job = ms.Job("metrics")
    metrics = job.stream(journal.source("metrics"), SCHEMA, time="at").where("host = 'a'")
    metrics.window(ms.tumbling("1 minute")).agg(n="count(*)").final().to(journal.sink("final"))
    result = millstream.run(job, epochs((at(0, 10), "a", 1), (at(2), "b", 2)))
    assert [[row["n"] for row in rows] for rows in result["final"].epochs] == [[], [1]]


def test_allowed_lateness_corrects(millstream: Runner) -> None:
    late = job(window=ms.tumbling("1 minute"), allowed_lateness="5 minutes")
    rows = epochs((at(0, 10), "a", 1), (at(2), "a", 2), (at(0, 20), "a", 99), (at(6), "b", 1), (at(0, 30), "a", 100))
    result = millstream.run(late, rows)
    corrected = (at(0), at(1), "a", 2, 99)
    assert windows(result["changes"].epochs)[2] == [corrected]
    assert windows(result["final"].epochs) == [[], [], [], [corrected], []]
    assert result.late["closed"] == 1


def test_a_row_is_in_every_window_that_it_falls_into(millstream: Runner) -> None:
    rows = [metric(at(2, 30), "a", 1), metric(at(3), "a", 2), metric(None, "a", 3), Watermark(at(30))]
    result = millstream.run(job(window=ms.hopping("3 minutes", every="2 minutes")), {"metrics": rows})
    assert windows(result["final"].epochs) == [[(at(0), at(3), "a", 1, 1), (at(2), at(5), "a", 2, 2)]]


@pytest.mark.parametrize("restart", [False, True])
def test_a_row_too_late_for_one_window_still_counts_in_the_next(millstream: Runner, restart: bool) -> None:
    rows = epochs((at(2, 30), "a", 1), (at(4, 10), "a", 5), (at(3), "a", 7), (at(1), "b", 2), (at(9), "c", 1))
    hopping = job(window=ms.hopping("4 minutes", every="2 minutes"))
    result = millstream.run(hopping, rows, restart_between=restart)
    first, middle, end = (at(0), at(4), "a", 1, 1), (at(2), at(6), "a", 3, 7), (at(4), at(8), "a", 1, 5)
    assert windows(result["final"].epochs) == [[], [first], [], [], [middle, end]]
    assert windows(result["changes"].epochs) == [
        [first, (at(2), at(6), "a", 1, 1)],
        [(at(2), at(6), "a", 2, 5), end],
        [middle],
        [],
        [(at(6), at(10), "c", 1, 1), (at(8), at(12), "c", 1, 1)],
    ]
    # The third row for one window, the fourth for both of its windows.
    assert result.late == {"cpu": 3, "closed": 3}


def test_a_day_by_the_minute(millstream: Runner) -> None:
    """Rows that are new, come late, or are too late for some windows: each window against a sum by hand."""
    minutes = [0, 700, 1439, 3, 1445, 701, 2900, 1500, 4400]
    rows = [metric(str(DAY + timedelta(minutes=minute)), "a", minute % 97) for minute in minutes]
    hopping = job("10 hours", window=ms.hopping("24 hours", every="1 minute"))
    result = millstream.run(hopping, {"metrics": [[row] for row in rows]})
    every: dict[int, list[int]] = {}
    watermark = -1440
    for minute in minutes:
        for start in range(max(minute - 1439, watermark - 1439), minute + 1):
            every.setdefault(start, []).append(minute % 97)
        watermark = max(watermark, minute - 600)
    sums = {start: (len(inside), max(inside)) for start, inside in sorted(every.items())}
    said = {row["window_start"]: (row["n"], row["top"]) for row in result["changes"].tables[-1]}
    assert said == {stamp(start): found for start, found in sums.items()}
    closed = [(row["window_start"], (row["n"], row["top"])) for row in result["final"].rows]
    assert sorted(closed) == [(stamp(start), found) for start, found in sums.items() if start + 1440 <= watermark]
    assert result.late["closed"] == 9 * 1440 - sum(n for n, _ in sums.values())


def test_a_row_in_a_gap_between_windows_is_in_none(millstream: Runner) -> None:
    rows = [metric(at(1, 59), "a", 1), metric(at(2), "a", 2), metric(at(0, 59), "a", 3), Watermark(at(30))]
    result = millstream.run(job(window=ms.hopping("1 minute", every="2 minutes")), {"metrics": rows})
    assert windows(result["final"].epochs) == [[(at(0), at(1), "a", 1, 3), (at(2), at(3), "a", 1, 2)]]


@pytest.mark.parametrize("restart", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_row_between_two_sessions_joins_them(millstream: Runner, restart: bool) -> None:
    rows = epochs(
        (at(1), "a", 1),
        (at(2, 30), "a", 2),
        (at(2, 20), "b", 9),
        (at(3, 10), "a", 3),
        (at(1, 50), "a", 4),
        (at(13, 30), "b", 7),
        (at(13, 31), "b", 7),
        (at(14, 10), "b", 8),
    )
    sessions = job(window=ms.session("1 minute"), allowed_lateness="10 minutes")
    result = millstream.run(sessions, rows, restart_between=restart)
    tables = windows(result["changes"].tables)
    other, joined = (at(2, 20), at(3, 20), "b", 1, 9), (at(1), at(4, 10), "a", 4, 4)
    assert tables[3] == [(at(1), at(2), "a", 1, 1), other, (at(2, 30), at(4, 10), "a", 2, 3)]
    assert tables[4] == [joined, other]
    assert windows(result["final"].epochs) == [[], [], [], [], [], [other], [], [joined]]


def test_a_session_that_is_over_takes_no_more_rows(millstream: Runner) -> None:
    over = [(at(1), "a", 1), (at(2), "a", 2), (at(4), "b", 1)]
    more = [(at(3), "a", 3), (at(3, 1), "a", 4), (at(5), "b", 2), (at(9), "c", 0)]
    result = millstream.run(job(window=ms.session("1 minute")), epochs(*over, *more))
    # A row at the end of a session still joins it.
    first = [[], [], [(at(1), at(3), "a", 2, 2)]]
    then = [[], [], [(at(3, 1), at(4, 1), "a", 1, 4)], [(at(4), at(6), "b", 2, 2)]]
    assert windows(result["final"].epochs) == [*first, *then]
    assert result.late["closed"] == 1
    assert [row["at"] for row in result["late"].rows] == [at(3)]


@pytest.mark.parametrize("restart", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_sliding_window_changes_when_a_row_leaves(millstream: Runner, restart: bool) -> None:
    job = ms.Job("metrics")
    window = job.stream(journal.source("metrics"), SCHEMA, time="at").window(ms.sliding("5 minutes"))
    window.group_by("host").agg(n="count(*)", top="max(cpu)").to(journal.sink("last"))
    window.late().select("host", "cpu").to(journal.sink("late"))
    rows = [(at(0), "a", 9), (at(2), "a", 5), (at(2), "a", 5), (at(4, 59), "b", 1), (at(5), "b", 2)]
    more = [(at(0), "b", 9), (at(7), "c", 1)]
    result = millstream.run(job, epochs(*rows, *more), restart_between=restart)
    tables = [[(row["host"], row["n"], row["top"]) for row in table] for table in result["last"].tables]
    assert tables[2:] == [
        [("a", 3, 9)],
        [("a", 3, 9), ("b", 1, 1)],
        [("a", 2, 5), ("b", 2, 2)],  # The first row is five minutes old.
        [("a", 2, 5), ("b", 2, 2)],  # A row that is as old is late.
        [("b", 2, 2), ("c", 1, 1)],  # The last row of a host takes it along.
    ]
    assert result["late"].rows == [{"host": "b", "cpu": 9}]


def test_processing_time_is_when_a_record_came_into_the_log(millstream: Runner) -> None:
    job = ms.Job("metrics")
    metrics = job.stream(journal.source("metrics"), "host STRING", time=ms.processing_time("seen_at"))
    seen = metrics.window(ms.tumbling("1 minute")).group_by("host").agg(n="count(*)", last="max(seen_at)")
    seen.final().to(journal.sink("final"))
    moments = (at(0, 10), at(0, 50), at(1, 5), at(2))
    rows = [[Record('{"host": "a"}', timestamp=moment)] for moment in moments]
    found = millstream.run(job, {"metrics": rows}, restart_between=True)["final"].epochs
    assert [[(row["window_end"], row["n"], row["last"]) for row in epoch] for epoch in found] == [
        [],
        [],
        [(at(1), 2, at(0, 50))],
        [(at(2), 1, at(1, 5))],
    ]


def test_windows_need_a_time() -> None:
    job = ms.Job("metrics")
    metrics = job.stream(journal.source("metrics"), schema="at TIMESTAMP, cpu INT")
    with pytest.raises(ms.MillstreamError) as error:
        metrics.window(ms.tumbling("1 minute"))
    assert error.value.code == "MS-WINDOW-001"
    with pytest.raises(ms.MillstreamError) as error:
        ms.hopping("1 minute", every="0 seconds")
    assert error.value.code == "MS-WINDOW-002"
