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
    from millstream.testing.given import Item


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
    """Each row is its own epoch."""
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


@pytest.mark.slow
def test_late_rows_are_counted_and_change_nothing(millstream: Runner) -> None:
    rows = epochs((at(0, 10), "a", 1), (at(2), "a", 2), (at(0, 20), "a", 99), (at(2, 1), "b", 3))
    result = millstream.run(job(window=ms.tumbling("1 minute")), rows)
    assert windows(result["final"].epochs) == [[], [(at(0), at(1), "a", 1, 1)], [], []]
    assert result.late == {"cpu": 1, "closed": 1}
    late = {**metric(at(0, 20), "a", 99), "window_start": at(0), "window_end": at(1)}
    assert result["late"].epochs == [[], [], [late], []]


@pytest.mark.parametrize("restart", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_having_chooses_groups_of_each_window(millstream: Runner, restart: bool) -> None:
    """A group comes when it meets the condition and goes when it does not; what is final meets it at the end."""
    job = ms.Job("metrics")
    window = job.stream(journal.source("metrics"), SCHEMA, time="at").window(ms.tumbling("1 minute"))
    window.late().to(journal.sink("late"))
    few = window.group_by("host").having("count(*) < 3 AND max(cpu) > 1").agg(n="count(*)", top="max(cpu)").named("few")
    few.to(journal.sink("changes"))
    few.final().named("closed").to(journal.sink("final"))
    first = [metric(at(0, 1), "a", 1), metric(at(0, 2), "b", 2), metric(at(0, 3), "c", 3)]
    then = [metric(at(0, 4), "a", 4), metric(at(0, 5), "b", 2), metric(at(0, 6), "b", 2)]
    given = {"metrics": [first, then, [metric(at(2), "a", 1)], [metric(at(0, 7), "c", 9)]]}
    result = millstream.run(job, given, restart_between=restart)
    a, b, c = ((at(0), at(1), host, *rest) for host, *rest in (("a", 2, 4), ("b", 1, 2), ("c", 1, 3)))
    tables = [sorted(tuple(row[name] for name in COLUMNS) for row in table) for table in result["changes"].tables]
    assert tables == [[b, c], [a, c], [a, c], [a, c]]
    assert windows(result["final"].epochs) == [[], [], [a, c], []]
    assert result.late == {"few": 1, "closed": 1}
    assert [row["cpu"] for row in result["late"].rows] == [9]


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
    rows: list[Item] = [metric(at(2, 30), "a", 1), metric(at(3), "a", 2), metric(None, "a", 3), Watermark(at(30))]
    result = millstream.run(job(window=ms.hopping("3 minutes", every="2 minutes")), {"metrics": rows})
    assert windows(result["final"].epochs) == [[(at(0), at(3), "a", 1, 1), (at(2), at(5), "a", 2, 2)]]


OFFSETS = {
    "tumbling": (ms.tumbling("2 minutes", offset="30 seconds"), [(at(0, 30), 2), (at(2, 30), 1)]),
    "gaps": (ms.hopping("1 minute", every="2 minutes", offset="30 seconds"), [(at(0, 30), 1), (at(2, 30), 1)]),
    "hopping": (
        ms.hopping("3 minutes", every="2 minutes", offset="150 seconds"),
        [("2025-12-31T23:58:30.000000Z", 1), (at(0, 30), 3), (at(2, 30), 1)],
    ),
    "panes": (
        ms.hopping("4 minutes", every="2 minutes", offset="30 seconds"),
        [("2025-12-31T23:58:30.000000Z", 2), (at(0, 30), 3), (at(2, 30), 1)],
    ),
}


def test_windows_may_begin_later(millstream: Runner) -> None:
    """By so much, whatever their kind; by more than one of them, too."""
    job = ms.Job("metrics")
    metrics = job.stream(journal.source("metrics"), SCHEMA, time="at")
    for kind, (window, _) in OFFSETS.items():
        metrics.window(window).agg(n="count(*)").final().to(journal.sink(kind))
    rows: list[Item] = [
        metric(at(0, 30), "a", 1),
        metric(at(2, 29), "a", 2),
        metric(at(2, 30), "a", 3),
        Watermark(at(30)),
    ]
    result = millstream.run(job, {"metrics": rows})
    for kind, (_, expected) in OFFSETS.items():
        assert sorted((row["window_start"], row["n"]) for row in result[kind].rows) == expected, kind


def test_weeks_begin_on_monday_with_an_offset(millstream: Runner) -> None:
    job = ms.Job("metrics")
    metrics = job.stream(journal.source("metrics"), SCHEMA, time="at")
    weeks = metrics.window(ms.tumbling("1 week", offset="4 days")).agg(n="count(*)")
    weeks.to(journal.sink("weeks"))
    given = [metric(f"2026-01-{day:02d}T12:00:00Z", "a", 1) for day in (4, 5, 11, 12)]
    rows = millstream.run(job, {"metrics": given})["weeks"].rows
    assert sorted((row["window_start"][:10], row["n"]) for row in rows) == [
        ("2025-12-29", 1),
        ("2026-01-05", 2),
        ("2026-01-12", 1),
    ]


@pytest.mark.slow
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


@pytest.mark.slow
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
    rows: list[Item] = [metric(at(1, 59), "a", 1), metric(at(2), "a", 2), metric(at(0, 59), "a", 3), Watermark(at(30))]
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
        (at(14, 11), "b", 8),
    )
    sessions = job(window=ms.session("1 minute"), allowed_lateness="10 minutes")
    result = millstream.run(sessions, rows, restart_between=restart)
    tables = windows(result["changes"].tables)
    other, joined = (at(2, 20), at(3, 20), "b", 1, 9), (at(1), at(4, 10), "a", 4, 4)
    assert tables[3] == [(at(1), at(2), "a", 1, 1), other, (at(2, 30), at(4, 10), "a", 2, 3)]
    assert tables[4] == [joined, other]
    assert windows(result["final"].epochs) == [[], [], [], [], [], [other], [], [joined]]


@pytest.mark.slow
def test_a_session_that_is_over_takes_no_more_rows(millstream: Runner) -> None:
    over = [(at(1), "a", 1), (at(2), "a", 2), (at(4), "b", 1)]
    more = [(at(2, 59), "a", 3), (at(3, 1), "a", 4), (at(5), "b", 2), (at(9), "c", 0)]
    result = millstream.run(job(window=ms.session("1 minute")), epochs(*over, *more))
    # A row at the end of a session still joins it.
    first = [[], [], [(at(1), at(3), "a", 2, 2)]]
    then = [[], [], [(at(3, 1), at(4, 1), "a", 1, 4)], [(at(4), at(6), "b", 2, 2)]]
    assert windows(result["final"].epochs) == [*first, *then]
    assert result.late["closed"] == 1
    assert [row["at"] for row in result["late"].rows] == [at(2, 59)]


def test_a_session_is_open_while_a_row_in_time_can_touch_it(millstream: Runner) -> None:
    rows = epochs((at(1), "a", 1), (at(2), "b", 1), (at(2), "c", 1), (at(2), "a", 2), (at(9), "c", 0))
    result = millstream.run(job(window=ms.session("1 minute")), rows)
    assert (at(1), at(3), "a", 2, 2) in windows(result["final"].epochs)[-1]
    assert result.late["closed"] == 0


@pytest.mark.parametrize("restart", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_sliding_window_changes_when_a_row_leaves(millstream: Runner, restart: bool) -> None:
    job = ms.Job("metrics")
    window = job.stream(journal.source("metrics"), SCHEMA, time="at").window(ms.sliding("5 minutes"))
    window.group_by("host").agg(n="count(*)", top="max(cpu)").to(journal.sink("last"))
    window.agg(n="count(*)", top="max(cpu)").to(journal.sink("whole"))
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
    whole = [[(row["n"], row["top"]) for row in table] for table in result["whole"].tables]
    assert whole == [[(1, 9)], [(2, 9)], [(3, 9)], [(4, 9)], [(4, 5)], [(4, 5)], [(3, 2)]]
    assert result["late"].rows == [{"host": "b", "cpu": 9}]


def test_a_sliding_window_of_all_rows_has_a_result_when_all_have_left(millstream: Runner) -> None:
    job = ms.Job("metrics")
    window = job.stream(journal.source("metrics"), SCHEMA, time="at").window(ms.sliding("5 minutes"))
    window.agg(n="count(*)", top="max(cpu)").to(journal.sink("whole"))
    rows: list[list[Item]] = [[], [metric(at(0), "a", 9)], [Watermark(at(5))], [metric(at(6), "a", 1)]]
    tables = millstream.run(job, {"metrics": rows})["whole"].tables
    assert [[(row["n"], row.get("top")) for row in table] for table in tables] == [
        [(0, None)],
        [(1, 9)],
        [(0, None)],
        [(1, 1)],
    ]


KINDS = {
    "tumbling": ms.tumbling("1 minute"),
    "hopping": ms.hopping("3 minutes", every="2 minutes"),
    "panes": ms.hopping("4 minutes", every="2 minutes"),
    "session": ms.session("1 minute"),
    "sliding": ms.sliding("5 minutes"),
}


def test_rows_without_a_time_are_counted_and_given(millstream: Runner) -> None:
    """In all kinds of windows, and in dedup; also in the first epoch, when time is not known yet."""
    job = ms.Job("metrics")
    metrics = job.stream(journal.source("metrics"), SCHEMA, time="at")
    for kind, window in KINDS.items():
        windows = metrics.window(window)
        counts = windows.group_by("host").agg(n="count(*)").named(kind)
        counts.to(journal.sink(kind))
        windows.late().to(journal.sink(f"late_{kind}"))
    metrics.dedup("host", within="1 minute").named("dedup").to(journal.sink("once"))
    first = [metric(None, "a", 1), metric(None, "a", 2), metric(at(1), "b", 3)]
    given = {"metrics": [first, [metric(None, "b", 4)]]}
    result = millstream.run(job, given)
    assert sorted(result.late.values()) == [3] * (len(KINDS) + 1)
    for name, output in result.outputs.items():
        if name.startswith("late"):
            found = sorted((row["cpu"], row.get("at"), row.get("window_end")) for row in output.rows)
            assert found == [(1, None, None), (2, None, None), (4, None, None)], name
        else:
            assert {row["host"] for row in output.rows} == {"b"}, name
    batch = millstream.run(job, given, mode=ms.batch())
    for name, output in batch.outputs.items():
        assert sorted(map(str, output.rows)) == sorted(map(str, result[name].rows)), name


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
