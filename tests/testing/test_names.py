"""Columns with names, and texts, that Spark takes in quotes only."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream import journal
from millstream.plan.modes import Mode
from millstream.testing import Runner

SCHEMA = "`größe` INT, `my col` STRING, `a.b` INT, `from` INT, k STRUCT<`select`: INT, ü: INT>"
ROWS = [
    {"größe": 1, "my col": "it's", "a.b": 2, "from": 3, "k": {"select": 4, "ü": 5}},
    {"größe": 7, "my col": "its", "a.b": 2, "from": 3, "k": {"select": 4, "ü": 5}},
]


@pytest.fixture
def job() -> ms.Job:
    """Of several sinks with a stage between them: their rows go through one column."""
    job = ms.Job("names")
    rows = job.stream(journal.source("rows"), SCHEMA)
    rows.where("`my col` = 'it''s'").select("größe", "k.`select`", "k.ü", up="transform(array(k.ü), ü -> ü + 1)").to(
        journal.sink("some")
    )
    rows.group_by("`a.b`", "`my col`").agg(**{"sum of": "sum(größe)", "last": "max(`from`)"}).to(journal.sink("sums"))
    rows.top(1, by="größe DESC", per="`a.b`", rank="the rank").select("größe", "`a.b`", "`the rank`").to(
        journal.sink("top")
    )
    rows.dedup("a.b", by="größe").select("größe", "`a.b`").to(journal.sink("first"))
    return job


@pytest.mark.parametrize("mode", [None, ms.batch()])
def test_they_are_quoted_on_the_way(millstream: Runner, job: ms.Job, mode: Mode | None) -> None:
    found = millstream.run(job, {"rows": ROWS}, mode=mode)
    assert found["some"].rows == [{"größe": 1, "select": 4, "ü": 5, "up": [6]}]
    assert found["sums"].rows == [
        {"a.b": 2, "my col": "it's", "sum of": 1, "last": 3},
        {"a.b": 2, "my col": "its", "sum of": 7, "last": 3},
    ]
    assert found["top"].rows == [{"größe": 7, "a.b": 2, "the rank": 1}]
    assert found["first"].rows == [{"größe": 1, "a.b": 2}]
