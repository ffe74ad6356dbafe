"""Columns with maps: equal maps are one key, whatever the order of their entries, and may be sorted."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as ms
from millstream import journal
from millstream.plan.modes import Mode
from millstream.testing import Runner

SCHEMA = "id INT, m MAP<STRING, INT>, s STRUCT<ms: ARRAY<MAP<STRING, DOUBLE>>>, xs ARRAY<DOUBLE>"
ONE = {"m": {"a": 1, "b": 2}, "s": {"ms": [{"a": 0.0, "b": 1.0}]}, "xs": [0.0, 1.0]}
SAME = {"m": {"b": 2, "a": 1}, "s": {"ms": [{"b": 1.0, "a": -0.0}]}, "xs": [-0.0, 1.0]}
NONE = {"m": None, "s": {"ms": [None]}, "xs": None}
ROWS: list[list[dict[str, Any]]] = [[{"id": 1, **ONE}, {"id": 2, **NONE}], [{"id": 3, **SAME}, {"id": 4, **ONE}]]


@pytest.fixture
def job() -> ms.Job:
    job = ms.Job("maps")
    rows = job.stream(journal.source("rows"), SCHEMA)
    for name in ("m", "s", "xs"):
        rows.group_by(name).agg(n="count(*)").select("n").to(journal.sink(name, changelog=True))
    rows.agg(m="count(DISTINCT m)", s="count(DISTINCT s)", xs="count(DISTINCT xs)").to(journal.sink("different"))
    rows.select("m").distinct().agg(n="count(*)").to(journal.sink("distinct"))
    rows.select("m").except_(rows.where("id = 3").select("m")).to(journal.sink("except"))
    rows.to_table("id", by="id").select("id").to(journal.sink("table"))
    rows.top(1, by="m DESC, s").select("m").to(journal.sink("top", changelog=True))
    return job


@pytest.mark.parametrize("mode", [None, ms.batch()])
def test_equal_maps_are_one_key(millstream: Runner, job: ms.Job, mode: Mode | None) -> None:
    found = millstream.run(job, {"rows": ROWS}, mode=mode)
    for name in ("m", "s", "xs"):
        assert found[name].rows == [{"n": 1}, {"n": 3}], name
    assert found["different"].rows == [{"m": 1, "s": 2, "xs": 1}]
    assert found["distinct"].rows == [{"n": 2}]
    assert found["except"].rows == [{"m": None}]
    assert found["table"].rows == [{"id": n} for n in (1, 2, 3, 4)]
    assert found["top"].rows == [{"m": {"b": 2, "a": 1}}]
