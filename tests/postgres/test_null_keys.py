"""Rows whose key is NULL, wholly or in part: written once, changed and deleted as the others."""

from __future__ import annotations

import json

import pytest

import millstream as ms
from millstream import postgres
from millstream.connectors.postgres.carrier import PostgresCarrier
from millstream.journal.record import Record
from millstream.plan.connectors import RowShape
from tests.postgres.conftest import Sql

pytestmark = pytest.mark.server
INDEXES = ("UNIQUE (a, b)", "UNIQUE NULLS NOT DISTINCT (a, b)")


def carrier(address: str) -> PostgresCarrier:
    shape = RowShape(("a", "b", "n"), ("a", "b"), "")
    return postgres.sink("counts", address=address).carrier("job.counts", "upsert", shape)


def record(a: int | None, b: int | None, n: int | None) -> Record:
    """As Spark writes JSON: without what is NULL."""
    row = {name: value for name, value in {"a": a, "b": b, "n": n}.items() if value is not None}
    key = {name: value for name, value in row.items() if name != "n"}
    return Record(0, 0, 0, json.dumps(key).encode(), None if n is None else json.dumps(row).encode(), ())


@pytest.mark.parametrize("index", INDEXES)
def test_each_key_has_one_row(index: str, sql: Sql, ordinary: str) -> None:
    sql.execute(f"CREATE TABLE counts (a INT, b INT, n INT, {index})")
    keys = [(1, 1), (1, None), (None, 1), (None, None), (2, None)]
    one = carrier(ordinary)
    for epoch in range(3):
        one.carry(epoch, [record(a, b, 10 * epoch + place) for place, (a, b) in enumerate(keys)])
    found = sql.execute("SELECT a, b FROM counts ORDER BY n").fetchall()
    assert found == keys
    one.carry(3, [record(a, b, None) for a, b in keys[:3]] + [record(None, None, 7), record(3, None, None)])
    one.close()
    assert sql.execute("SELECT a, b, n FROM counts ORDER BY n").fetchall() == [(None, None, 7), (2, None, 24)]


def test_a_primary_key_cannot_be_null(sql: Sql, ordinary: str) -> None:
    sql.execute("CREATE TABLE counts (a INT, b INT, n INT, PRIMARY KEY (a, b))")
    one = carrier(ordinary)
    with pytest.raises(ms.MillstreamError) as error:
        one.carry(0, [record(1, None, 1)])
    one.close()
    assert error.value.code == "MS-POSTGRES-005"
    assert "UNIQUE" in (error.value.hint or "")
