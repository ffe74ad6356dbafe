"""Jobs as ordinary roles: what they need, and the errors if they do not have it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

import millstream as ms
from millstream import journal, postgres
from millstream.connectors.postgres.carrier import PostgresCarrier
from millstream.journal.record import Record
from millstream.plan.connectors import RowShape, WriteMode
from tests.postgres.conftest import Sql
from tests.postgres.reception import catch_up, received

if TYPE_CHECKING:
    from servers.postgres import Postgres

pytestmark = pytest.mark.server


def carrier(address: str, mode: WriteMode = "upsert", key: tuple[str, ...] = ("id",)) -> PostgresCarrier:
    shape = RowShape(("id", "name"), key, "")
    return postgres.sink("people", address=address).carrier("job.people", mode, shape)


def record(id: int, name: str | None) -> Record:
    value = None if name is None else json.dumps({"id": id, "name": name}).encode()
    return Record(0, 0, 0, json.dumps({"id": id}).encode(), value, ())


@pytest.fixture
def people(sql: Sql) -> Sql:
    sql.execute("CREATE TABLE people (id INT PRIMARY KEY, name TEXT)")
    return sql


def test_a_source_of_a_role_that_may_only_select_and_replicate(people: Sql, server: Postgres, tmp_path: Path) -> None:
    people.execute("GRANT SELECT ON people TO app")
    every = "publish = 'insert, update, delete, truncate', publish_via_partition_root = true"
    people.execute(f"CREATE PUBLICATION ours FOR TABLE people WITH ({every})")
    people.execute("INSERT INTO people VALUES (1, 'ann')")
    changes = postgres.changes("people", address=server.address("app"), publication="ours")
    for name in ("bob", "cyd"):
        catch_up(received(changes, tmp_path))
        people.execute("UPDATE people SET name = %s", [name])
    catch_up(received(changes, tmp_path))
    found = [record.json()["name"] for record in journal.read(tmp_path / "received", "people")]
    assert found == ["ann", "bob", "cyd"]


def test_a_sink_of_a_role_that_may_only_write_to_the_table(people: Sql, ordinary: str) -> None:
    one = carrier(ordinary)
    one.carry(0, [record(1, "ann"), record(2, "bob")])
    one.carry(1, [record(1, None), record(2, "bert")])
    assert one.last() == 1
    one.close()
    assert people.execute("SELECT id, name FROM people").fetchall() == [(2, "bert")]


def test_what_a_sink_lacks_is_said_as_sql(people: Sql, server: Postgres) -> None:
    """An administrator only has to run it."""
    people.execute("REVOKE ALL ON people FROM guest")
    with psycopg.connect(server.address(), autocommit=True) as root:
        root.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
        try:
            with pytest.raises(ms.MillstreamError) as error:
                carrier(server.address("guest"))
            assert error.value.code == "MS-POSTGRES-011"
            hint = error.value.hint or ""
            assert 'GRANT SELECT, INSERT, UPDATE, DELETE ON "public"."people" TO "guest";' in hint
            told = re.fullmatch(r"have somebody who may do so run: (.*)", hint)
            assert told is not None
            root.execute(told.group(1))
            one = carrier(server.address("guest"))
            one.carry(0, [record(1, "ann")])
            one.close()
        finally:
            root.execute("GRANT TEMPORARY ON DATABASE postgres TO PUBLIC")
            root.execute("REVOKE ALL ON DATABASE postgres FROM guest")
            root.execute("DROP TABLE millstream_epochs")
    assert people.execute("SELECT name FROM people").fetchall() == [("ann",)]


def test_a_sink_is_asked_for_no_more_than_it_needs(people: Sql, ordinary: str) -> None:
    people.execute("REVOKE ALL ON people FROM guest")
    people.execute("GRANT INSERT ON people TO guest")
    one = carrier(ordinary, "append")
    one.carry(0, [record(1, "ann")])
    one.close()
    people.execute("GRANT DELETE ON people TO guest")
    one = carrier(ordinary, "upsert", ())
    one.carry(1, [record(2, "bob")])
    one.close()
    assert people.execute("SELECT name FROM people").fetchall() == [("bob",)]
