"""Processing time of raw records."""

from __future__ import annotations

import millstream as ms
from millstream import journal
from millstream.testing import Record, Runner


def test_the_column_has_its_name_and_the_last_window_closes_by_the_clock(millstream: Runner) -> None:
    job = ms.Job("raw")
    rows = job.stream(journal.source("rows", format="raw"), time=ms.processing_time("seen_at"))
    assert "time seen_at, idle after 1 second" in rows.explain()
    rows.window(ms.tumbling("1 minute")).agg(n="count(*)", last="max(seen_at)").final().to(journal.sink("counts"))
    clock = [f"2026-01-01T00:{time}Z" for time in ("00:10", "00:20", "02:00")]
    said = millstream.run(job, {"rows": [[Record("a")], [Record("b")], []]}, clock=clock)
    assert [(row["n"], row["last"][:19]) for row in said["counts"].rows] == [(2, "2026-01-01T00:00:20")]
