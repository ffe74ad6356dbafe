"""Columns of type MAP, which Spark gives no hash."""

from __future__ import annotations

import millstream as ms
from millstream import journal
from millstream.testing import Inputs, Runner

SCHEMA = "id INT, at TIMESTAMP, tags MAP<STRING, INT>"
ROWS = [{"id": n, "at": f"2026-01-01T00:0{n}:00Z", "tags": {"n": n}} for n in (1, 2, 3)]


def test_they_pass_a_level_come_late_and_are_spread(millstream: Runner) -> None:
    job = ms.Job("maps")
    rows = job.stream(journal.source("rows"), SCHEMA, time="at")
    names = job.table(journal.source("names"), "id INT, name STRING", key="id")
    rows.as_("r").join(names.as_("n"), on="r.id = n.id", broadcast=True).select("r.tags", "n.name").to(
        journal.sink("named", changelog=True)
    )
    rows.group_by("id").agg(n="count(*)").group_by("n").agg(ids="count(*)").to(journal.sink("counts"))
    rows.select("id", "tags").to(journal.sink("passing"))
    rows.window(ms.tumbling("1 minute")).late().select("id", "tags").to(journal.sink("late"))
    given: Inputs = {"rows": [ROWS, ROWS[:1]], "names": [[{"id": 1, "name": "one"}], []]}
    said = millstream.run(job, given)
    assert [row["tags"] for row in said["named"].rows] == [{"n": 1}] * 2
    assert sorted(row["id"] for row in said["passing"].rows) == [1, 1, 2, 3]
    assert said["late"].rows == [{"id": 1, "tags": {"n": 1}}]
