"""A clock that goes back: time in a job does not, and what comes is late or waits, but is never lost in silence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import millstream as ms
from millstream import journal
from millstream.testing import Record

if TYPE_CHECKING:
    from millstream.testing import Runner

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: int) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_windows_by_processing_time(millstream: Runner) -> None:
    """Records that the clock says came before windows that are closed are late, and kept by `late()`.

    `lateness=` lets the clock go back so far.
    """

    def found(lateness: str | None) -> tuple[list[Any], list[Any]]:
        job = ms.Job("clicks")
        time = ms.processing_time("seen_at")
        clicks = job.stream(journal.source("clicks"), "user STRING", time=time, lateness=lateness)
        windows = clicks.window(ms.tumbling("10 seconds"))
        windows.group_by("user").agg(n="count(*)").final().to(journal.sink("final"))
        windows.late().select("user", "seen_at").to(journal.sink("late"))
        moments = [at(1), at(12), at(3), at(13), at(60)]
        rows = [[Record('{"user": "a"}', timestamp=moment)] for moment in moments]
        result = millstream.run(job, {"clicks": rows})
        closed = [(row["window_start"], row["n"]) for row in result["final"].rows]
        return sorted(closed), [row["seen_at"] for row in result["late"].rows]

    assert found(None) == ([(at(0), 1), (at(10), 2)], [at(3)])
    assert found("10 seconds") == ([(at(0), 2), (at(10), 2)], [])


class Alarm(ms.Process):
    """Rings ten seconds after a row, by the clock."""

    output = "k STRING, at TIMESTAMP"

    def on_row(self, key: str, row: Any) -> None:
        self.set_processing_timer(self.now + timedelta(seconds=10))

    def on_processing_timer(self, key: str, at: datetime) -> Iterator[Any]:
        yield key, at


def test_timers_by_the_clock(millstream: Runner) -> None:
    """They ring once, when the clock has come to their time for the first time; never earlier, never again."""
    job = ms.Job("alarms")
    rows = job.stream(journal.source("rows"), "k STRING")
    rows.key_by("k").process(Alarm, name="alarm").to(journal.sink("out"))
    clock = [at(0), at(5), at(-100), at(9), at(11), at(-100), at(11), at(-85)]
    keys = ["a", "-", "b", "-", "-", "-", "-", "-"]
    found = millstream.run(job, {"rows": [[{"k": key}] for key in keys]}, clock=clock)["out"].epochs
    rung = [[(row["k"], row["at"]) for row in epoch if row["k"] != "-"] for epoch in found]
    assert rung == [[], [], [], [("b", at(-90))], [("a", at(10))], [], [], []]
