"""Changes of a table are received once each, in order, whatever breaks off when."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal, postgres
from millstream.connectors.postgres.receiver import PostgresReceiver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from servers.postgres import Postgres

pytestmark = pytest.mark.server
Sql = "psycopg.Connection[Any]"


def receiver(folder: Path, address: str, table: str = "people") -> PostgresReceiver:
    return postgres.changes(table, address=address).bound("copy", str(folder)).receiver()


def records(folder: Path, table: str = "people") -> list[tuple[Any, Any]]:
    found = journal.read(folder / "received", table)
    return [(json.loads(record.key or b"null"), record.json()) for record in found]


def table_of(folder: Path, table: str = "people") -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for key, row in records(folder, table):
        rows.pop(json.dumps(key), None)
        if row is not None:
            rows[json.dumps(key)] = row
    return rows


def people(sql: Sql, identity: str = "DEFAULT") -> None:
    sql.execute("CREATE TABLE people (id INT PRIMARY KEY, name TEXT, story TEXT)")
    sql.execute(f"ALTER TABLE people REPLICA IDENTITY {identity}")
    sql.execute("INSERT INTO people SELECT n, 'name ' || n FROM generate_series(1, 3) n")


def test_a_snapshot_then_every_change(sql: Sql, address: str, tmp_path: Path) -> None:
    people(sql)
    receiver(tmp_path, address).prepare()
    assert [key["id"] for key, _ in records(tmp_path)] == [1, 2, 3]
    sql.execute("UPDATE people SET name = 'new' WHERE id = 1")
    sql.execute("UPDATE people SET id = 20 WHERE id = 2")
    sql.execute("DELETE FROM people WHERE id = 3")
    sql.execute("INSERT INTO people VALUES (4, NULL)")
    receiver(tmp_path, address).prepare()
    assert records(tmp_path)[3:] == [
        ({"id": 1}, {"id": 1, "name": "new", "story": None}),
        ({"id": 2}, None),
        ({"id": 20}, {"id": 20, "name": "name 2", "story": None}),
        ({"id": 3}, None),
        ({"id": 4}, {"id": 4, "name": None, "story": None}),
    ]
    sql.execute("TRUNCATE people")
    sql.execute("INSERT INTO people VALUES (5, 'last')")
    receiver(tmp_path, address).prepare()
    assert list(table_of(tmp_path)) == ['{"id": 5}']


def test_what_was_received_but_not_acknowledged_is_not_received_again(
    sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a crash between the two, and after one within a transaction."""
    people(sql)
    receiver(tmp_path, address).prepare()
    sql.execute("INSERT INTO people SELECT n, 'more' FROM generate_series(10, 30) n")

    def crash(*_: object) -> None:
        raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr("millstream.connectors.postgres.slot.Slot.advance", crash)
        with pytest.raises(InterruptedError):
            receiver(tmp_path, address).prepare()
    assert len(records(tmp_path)) == 24
    receiver(tmp_path, address).prepare()
    assert len(records(tmp_path)) == 24
    sql.execute("INSERT INTO people SELECT n, 'more' FROM generate_series(40, 50) n")
    appended = 0

    def crash_after_five(self: PostgresReceiver, key: bytes, row: Any, out: Any) -> None:
        nonlocal appended
        appended += 1
        if appended > 5:
            raise InterruptedError
        original(self, key, row, out)

    original = PostgresReceiver._append
    with monkeypatch.context() as patched:
        patched.setattr(PostgresReceiver, "_append", crash_after_five)
        with pytest.raises(InterruptedError):
            receiver(tmp_path, address).prepare()
    assert len(records(tmp_path)) == 29
    receiver(tmp_path, address).prepare()
    assert [key["id"] for key, _ in records(tmp_path)][24:] == list(range(40, 51))


def test_a_crash_within_the_snapshot_begins_anew(
    sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(sql)

    def crash(self: PostgresReceiver, connection: Any) -> str:
        original(self, connection)
        raise InterruptedError

    original = PostgresReceiver._copy
    with monkeypatch.context() as patched:
        patched.setattr(PostgresReceiver, "_copy", crash)
        with pytest.raises(InterruptedError):
            receiver(tmp_path, address).prepare()
    sql.execute("DELETE FROM people WHERE id = 2")
    receiver(tmp_path, address).prepare()
    assert [key["id"] for key, _ in records(tmp_path)] == [1, 3]


def test_changes_made_while_the_snapshot_is_taken_are_there_once(
    sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the slot and the snapshot: the snapshot holds them, and the slot has them, too."""
    people(sql)

    def later(self: PostgresReceiver, connection: Any) -> str:
        sql.execute("UPDATE people SET name = 'x' WHERE id = 1")
        sql.execute("UPDATE people SET name = 'y' WHERE id = 1")
        return original(self, connection)

    original = PostgresReceiver._copy
    monkeypatch.setattr(PostgresReceiver, "_copy", later)
    receiver(tmp_path, address).prepare()
    assert [row["name"] for key, row in records(tmp_path) if key["id"] == 1] == ["y"]


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
def test_large_values_that_were_not_changed(identity: str, sql: Sql, address: str, tmp_path: Path) -> None:
    people(sql, identity)
    sql.execute("ALTER TABLE people ALTER story SET STORAGE EXTERNAL")
    sql.execute("UPDATE people SET story = repeat('long ', 5000) WHERE id = 1")
    receiver(tmp_path, address).prepare()
    sql.execute("UPDATE people SET name = 'short' WHERE id = 1")
    receiver(tmp_path, address).prepare()
    row = table_of(tmp_path)['{"id": 1}']
    assert (row["name"], row["story"]) == ("short", "long " * 5000)


def test_every_type(sql: Sql, address: str, tmp_path: Path, spark: SparkSession) -> None:
    sql.execute(
        "CREATE TABLE things (id BIGINT PRIMARY KEY, b BOOLEAN, s SMALLINT, d DOUBLE PRECISION, n NUMERIC(10, 2),"
        " t VARCHAR(9), day DATE, at TIMESTAMP, atz TIMESTAMPTZ, raw BYTEA, u UUID, j JSONB)"
    )
    sql.execute(
        "INSERT INTO things VALUES (1, true, 2, 0.1, 12.30, 'tex''t', '2026-01-02', '2026-01-02 03:04:05.678',"
        " '2026-01-02 03:04:05+02', '\\x0102', '00000000-0000-0000-0000-000000000001', '{\"a\": [1]}')"
    )
    path = str(tmp_path / "journal")
    journal.create(path, "out", 1)

    def run() -> list[Any]:
        job = ms.Job("things", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
        job.table(postgres.changes("things", address=address)).to(journal.sink("out", path=path))
        job.run(ms.available_now(), spark=spark)
        return [record.json() for record in journal.read(path, "out")]

    want = {
        "id": 1,
        "b": True,
        "s": 2,
        "d": 0.1,
        "n": 12.3,
        "t": "tex't",
        "day": "2026-01-02",
        "at": "2026-01-02T03:04:05.678000Z",
        "atz": "2026-01-02T01:04:05.000000Z",
        "raw": "AQI=",
        "u": "00000000-0000-0000-0000-000000000001",
        "j": '{"a": [1]}',
    }
    assert run() == [want]
    sql.execute("UPDATE things SET s = 3 WHERE id = 1")
    assert run() == [want, {**want, "s": 3}]
    sql.execute("DELETE FROM things")
    assert run() == [want, {**want, "s": 3}, None]


def test_what_is_not_allowed_is_said_as_sql(sql: Sql, server: Postgres, tmp_path: Path) -> None:
    people(sql)
    sql.execute("GRANT SELECT ON people TO guest")
    with pytest.raises(ms.MillstreamError) as error:
        receiver(tmp_path, server.address("guest")).prepare()
    assert error.value.code == "MS-POSTGRES-006"
    assert 'CREATE PUBLICATION "millstream_copy_people" FOR TABLE "public"."people";' in (error.value.hint or "")


def test_a_slot_that_is_gone(sql: Sql, address: str, tmp_path: Path) -> None:
    people(sql)
    receiver(tmp_path, address).prepare()
    sql.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
    with pytest.raises(ms.MillstreamError) as error:
        receiver(tmp_path, address).prepare()
    assert error.value.code == "MS-POSTGRES-007"


def test_tables_that_cannot_be_read(sql: Sql, address: str, tmp_path: Path) -> None:
    sql.execute("CREATE TABLE keyless (id INT)")
    for table in ("keyless", "nowhere"):
        with pytest.raises(ms.MillstreamError) as error:
            receiver(tmp_path, address, table)
        assert error.value.code == "MS-POSTGRES-002"
    with pytest.raises(ms.MillstreamError) as error:
        receiver(tmp_path, "postgresql://app:secret@127.0.0.1:1/postgres")
    assert error.value.code == "MS-POSTGRES-001"
    assert "secret" not in str(error.value)
