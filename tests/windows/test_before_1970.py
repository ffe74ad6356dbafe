"""Event times before 1970, where Spark's watermark begins: such rows are not late."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream import journal
from millstream.testing import Runner

ROWS = [
    [{"k": "a", "at": "1950-01-01T00:10:00Z"}, {"k": "a", "at": "1950-01-01T05:00:00Z"}],
    [{"k": "a", "at": "1950-01-01T00:20:00Z"}, {"k": "b", "at": "1969-12-31T23:59:59Z"}],
]
LATER = [{"k": "c", "at": "1990-01-01T00:00:00Z"}]


@pytest.fixture
def job() -> ms.Job:
    job = ms.Job("old")
    rows = job.stream(journal.source("rows"), "k STRING, at TIMESTAMP", time="at")
    hours = rows.window(ms.tumbling("1 hour")).group_by("k").agg(n="count(*)")
    hours.select("k", "n", "window_start", "window_end").to(journal.sink("hours"))
    hours.final().select("k", "n").to(journal.sink("closed"))
    rows.window(ms.hopping("3 hours", every="2 hours")).group_by("k").agg(n="count(*)").to(journal.sink("hops"))
    rows.window(ms.session("1 hour")).group_by("k").agg(n="count(*)").final().to(journal.sink("sessions"))
    near = "a.k = b.k AND b.at BETWEEN a.at AND a.at + INTERVAL 20 MINUTES AND a.at < b.at"
    pairs = rows.as_("a").join(rows.as_("b"), on=near, how="left")
    pairs.select("a.k", "a.at", later="b.at").to(journal.sink("pairs"))
    rows.dedup("k", within="1 hour").to(journal.sink("once"))
    return job


def test_they_are_not_late(millstream: Runner, job: ms.Job) -> None:
    """Results that wait for the watermark wait for the first row after 1970, which itself is still open."""
    found = millstream.run(job, {"rows": [*ROWS, LATER]}, restart_between=True)
    batch = millstream.run(job, {"rows": [*ROWS, LATER]}, mode=ms.batch())
    assert not any(found.late.values())
    assert found["closed"].epochs[:2] == [[], []]
    for name in ("hours", "hops"):
        assert found[name].rows == batch[name].rows
    for name in ("closed", "sessions", "pairs"):
        assert found[name].rows == [row for row in batch[name].rows if row["k"] != "c"]
    assert found["once"].rows == batch["once"].rows
