"""An event time that rows are grouped or joined by: how old a row is does not matter there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import millstream as ms
from millstream import journal
from millstream.testing import Watermark

if TYPE_CHECKING:
    from millstream.testing import Runner

OLD, NEW = "2026-01-01T00:00:00.000000Z", "2026-01-02T00:00:00.000000Z"


def test_old_rows_are_counted_and_joined(millstream: Runner) -> None:
    job = ms.Job("moments")
    one = job.stream(journal.source("one"), "at TIMESTAMP, n INT", time="at")
    other = job.stream(journal.source("other"), "at TIMESTAMP, n INT", time="at")
    one.group_by("at").agg(n="count(*)").to(journal.sink("counts"))
    one.as_("a").join(other.as_("b"), on="a.at = b.at").select("a.at", "a.n", m="b.n").to(journal.sink("pairs"))
    result = millstream.run(
        job,
        {
            "one": [[{"at": OLD, "n": 1}, Watermark(NEW)], [{"at": OLD, "n": 2}]],
            "other": [[{"at": OLD, "n": 3}, Watermark(NEW)], [{"at": OLD, "n": 4}]],
        },
    )
    assert result["counts"].rows == [{"at": OLD, "n": 2}]
    assert sorted((row["n"], row["m"]) for row in result["pairs"].rows) == [(1, 3), (1, 4), (2, 3), (2, 4)]
