"""A clock that goes back: time in a job does not, and what comes is late, but never silently lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal
from millstream.testing import Record

if TYPE_CHECKING:
    from millstream.testing import Runner


def at(seconds: int) -> str:
    return f"2026-01-01T12:00:{seconds:02d}.000000Z"


@pytest.mark.slow
def test_windows_by_processing_time(millstream: Runner) -> None:
    """Records that the clock says came before windows that are closed are late, and kept by `late()`."""
    job = ms.Job("clicks")
    clicks = job.stream(journal.source("clicks"), "user STRING", time=ms.processing_time("seen_at"))
    windows = clicks.window(ms.tumbling("10 seconds"))
    windows.group_by("user").agg(n="count(*)").final().to(journal.sink("final"))
    windows.late().select("user", "seen_at").to(journal.sink("late"))
    moments = [at(1), at(12), at(3), at(13), at(59)]
    result = millstream.run(job, {"clicks": [[Record('{"user": "a"}', timestamp=moment)] for moment in moments]})
    closed = sorted((row["window_start"], row["n"]) for row in result["final"].rows)
    assert closed == [(at(0), 1), (at(10), 2)]
    assert [row["seen_at"] for row in result["late"].rows] == [at(3)]
