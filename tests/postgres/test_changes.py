"""Changes of a table are received once each, in order, whatever breaks, and whenever."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import millstream as ms
from millstream import journal, postgres
from millstream.connectors.postgres.receiver import PostgresReceiver
from millstream.reception import Message
from servers import postgres as servers
from tests.postgres.conftest import Sql, one
from tests.postgres.reception import catch_up, people, receiver, records, table_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from servers.postgres import Postgres

pytestmark = pytest.mark.server


def test_a_snapshot_then_every_change(sql: Sql, address: str, tmp_path: Path) -> None:
    people(sql)
    catch_up(receiver(tmp_path, address))
    assert [key["id"] for key, _ in records(tmp_path)] == [1, 2, 3]
    sql.execute("UPDATE people SET name = 'new' WHERE id = 1")
    sql.execute("UPDATE people SET id = 20 WHERE id = 2")
    sql.execute("DELETE FROM people WHERE id = 3")
    sql.execute("INSERT INTO people VALUES (4, NULL)")
    catch_up(receiver(tmp_path, address))
    changes: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
        ({"id": 1}, {"id": 1, "name": "new", "story": None}),
        ({"id": 2}, None),
        ({"id": 20}, {"id": 20, "name": "name 2", "story": None}),
        ({"id": 3}, None),
        ({"id": 4}, {"id": 4, "name": None, "story": None}),
    ]
    assert records(tmp_path)[3:] == changes
    sql.execute("TRUNCATE people")
    sql.execute("INSERT INTO people VALUES (5, 'last')")
    catch_up(receiver(tmp_path, address))
    assert list(table_of(tmp_path)) == ['{"id": 5}']


def test_what_was_received_but_not_acknowledged_is_not_received_again(
    sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a crash between the two, and after one within a transaction."""
    people(sql)
    catch_up(receiver(tmp_path, address))
    sql.execute("INSERT INTO people SELECT n, 'more' FROM generate_series(10, 30) n")

    def crash(*_: object) -> None:
        raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr("millstream.connectors.postgres.slot.Slot.advance", crash)
        with pytest.raises(InterruptedError):
            catch_up(receiver(tmp_path, address))
    assert len(records(tmp_path)) == 24
    catch_up(receiver(tmp_path, address))
    assert len(records(tmp_path)) == 24
    sql.execute("INSERT INTO people SELECT n, 'more' FROM generate_series(40, 50) n")
    appended = 0

    def crash_after_five(self: PostgresReceiver, message: Message, number: int) -> None:
        nonlocal appended
        appended += 1
        if appended > 5:
            raise InterruptedError
        original(self, message, number)

    original = PostgresReceiver._take_one
    with monkeypatch.context() as patched:
        patched.setattr(PostgresReceiver, "_take_one", crash_after_five)
        with pytest.raises(InterruptedError):
            catch_up(receiver(tmp_path, address))
    assert len(records(tmp_path)) == 29
    catch_up(receiver(tmp_path, address))
    assert [key["id"] for key, _ in records(tmp_path)][24:] == list(range(40, 51))


def test_a_crash_within_the_snapshot_starts_over(
    sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(sql)

    def crash(self: PostgresReceiver, connection: Any, folder: str) -> Any:
        original(self, connection, folder)
        raise InterruptedError

    original = PostgresReceiver._take_snapshot
    with monkeypatch.context() as patched:
        patched.setattr(PostgresReceiver, "_take_snapshot", crash)
        with pytest.raises(InterruptedError):
            catch_up(receiver(tmp_path, address))
    sql.execute("DELETE FROM people WHERE id = 2")
    catch_up(receiver(tmp_path, address))
    assert [key["id"] for key, _ in records(tmp_path)] == [1, 3]


def test_changes_made_while_the_snapshot_is_taken_are_there_once(
    sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the slot and the snapshot: the snapshot holds them, and the slot has them, too."""
    people(sql)

    def later(self: PostgresReceiver, connection: Any, folder: str) -> Any:
        sql.execute("UPDATE people SET name = 'x' WHERE id = 1")
        sql.execute("UPDATE people SET name = 'y' WHERE id = 1")
        return original(self, connection, folder)

    original = PostgresReceiver._take_snapshot
    monkeypatch.setattr(PostgresReceiver, "_take_snapshot", later)
    catch_up(receiver(tmp_path, address))
    assert [row["name"] for key, row in records(tmp_path) if key["id"] == 1] == ["y"]


def test_a_large_transaction(sql: Sql, address: str, tmp_path: Path) -> None:
    """More changes than are asked for at a time."""
    people(sql)
    catch_up(receiver(tmp_path, address))
    with sql.transaction():
        sql.execute("INSERT INTO people SELECT n, 'many' FROM generate_series(1001, 61000) n")
        sql.execute("UPDATE people SET id = -id WHERE id <= 3")
    catch_up(receiver(tmp_path, address))
    found = records(tmp_path)
    assert len(found) == 3 + 60_000 + 6
    assert len(table_of(tmp_path)) == 60_003


def test_an_empty_table(sql: Sql, address: str, tmp_path: Path) -> None:
    people(sql)
    sql.execute("TRUNCATE people")
    catch_up(receiver(tmp_path, address))
    assert records(tmp_path) == []
    sql.execute("INSERT INTO people VALUES (1)")
    catch_up(receiver(tmp_path, address))
    assert len(records(tmp_path)) == 1


def test_a_row_that_is_too_large(sql: Sql, address: str, tmp_path: Path) -> None:
    """It stays in the slot: nothing after it counts as received."""
    people(sql)
    catch_up(receiver(tmp_path, address))
    sql.execute("INSERT INTO people VALUES (4, repeat('x', 70000000)), (5, 'small')")
    for _ in range(2):
        with pytest.raises(ms.MillstreamError) as error:
            catch_up(receiver(tmp_path, address))
        assert error.value.code == "MS-JOURNAL-008"
    assert len(records(tmp_path)) == 3


def test_changes_have_the_time_of_their_commit(sql: Sql, address: str, tmp_path: Path) -> None:
    people(sql)
    catch_up(receiver(tmp_path, address))
    before = one(sql, "SELECT clock_timestamp()")
    sql.execute("UPDATE people SET name = 'x' WHERE id = 1")
    after = one(sql, "SELECT clock_timestamp()")
    catch_up(receiver(tmp_path, address))
    times = [record.timestamp for record in journal.read(tmp_path / "received", "people")]
    assert int(before.timestamp() * 1000) <= times[3] <= int(after.timestamp() * 1000)
    assert times[0] == times[2] < times[3]


def test_other_tables_of_a_publication(sql: Sql, address: str, tmp_path: Path) -> None:
    """Their changes are skipped, including a TRUNCATE of one of them."""
    people(sql)
    sql.execute("CREATE TABLE pets (id INT PRIMARY KEY)")
    sql.execute("CREATE PUBLICATION millstream_copy_people FOR TABLE pets, people")
    catch_up(receiver(tmp_path, address))
    sql.execute("INSERT INTO pets VALUES (1)")
    sql.execute("INSERT INTO people VALUES (4)")
    sql.execute("TRUNCATE pets")
    catch_up(receiver(tmp_path, address))
    assert len(table_of(tmp_path)) == 4


def test_a_table_in_parts(sql: Sql, address: str, tmp_path: Path) -> None:
    sql.execute("CREATE TABLE people (id INT PRIMARY KEY, name TEXT) PARTITION BY RANGE (id)")
    sql.execute("CREATE TABLE people_low PARTITION OF people FOR VALUES FROM (0) TO (10)")
    sql.execute("CREATE TABLE people_high PARTITION OF people FOR VALUES FROM (10) TO (20)")
    sql.execute("INSERT INTO people VALUES (1, 'a')")
    catch_up(receiver(tmp_path, address))
    sql.execute("UPDATE people SET id = 11 WHERE id = 1")
    catch_up(receiver(tmp_path, address))
    assert list(table_of(tmp_path)) == ['{"id": 11}']
    sql.execute("INSERT INTO people VALUES (2, 'b')")
    sql.execute("TRUNCATE people")
    sql.execute("INSERT INTO people VALUES (3, 'c'), (12, 'd')")
    catch_up(receiver(tmp_path, address))
    assert list(table_of(tmp_path)) == ['{"id": 3}', '{"id": 12}']


def test_a_crash_while_a_table_is_emptied(
    sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(sql)
    catch_up(receiver(tmp_path, address))
    sql.execute("TRUNCATE people")
    appended = 0

    def crash_after_two(self: PostgresReceiver, message: Message, number: int) -> None:
        nonlocal appended
        appended += 1
        if appended > 2:
            raise InterruptedError
        original(self, message, number)

    original = PostgresReceiver._take_one
    with monkeypatch.context() as patched:
        patched.setattr(PostgresReceiver, "_take_one", crash_after_two)
        with pytest.raises(InterruptedError):
            catch_up(receiver(tmp_path, address))
    assert len(table_of(tmp_path)) == 1
    catch_up(receiver(tmp_path, address))
    assert (table_of(tmp_path), len(records(tmp_path))) == ({}, 6)


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
def test_large_values_that_were_not_changed(identity: str, sql: Sql, address: str, tmp_path: Path) -> None:
    people(sql, identity)
    sql.execute("ALTER TABLE people ALTER story SET STORAGE EXTERNAL")
    sql.execute("UPDATE people SET story = repeat('long ', 5000) WHERE id = 1")
    catch_up(receiver(tmp_path, address))
    sql.execute("UPDATE people SET name = 'short' WHERE id = 1")
    catch_up(receiver(tmp_path, address))
    row = table_of(tmp_path)['{"id": 1}']
    assert (row["name"], row["story"]) == ("short", "long " * 5000)


def test_large_values_of_rows_with_odd_keys(sql: Sql, address: str, tmp_path: Path) -> None:
    """They are asked for by the key as the database has it."""
    sql.execute("CREATE TYPE mood AS ENUM ('good', 'bad')")
    sql.execute("CREATE TABLE people (at TIMESTAMP, ok BOOLEAN, m MOOD, raw BYTEA, name TEXT, story TEXT)")
    sql.execute("ALTER TABLE people ADD PRIMARY KEY (at, ok, m, raw), ALTER story SET STORAGE EXTERNAL")
    sql.execute("INSERT INTO people VALUES ('2026-01-01', true, 'bad', '\\x01', 'a', repeat('long ', 5000))")
    catch_up(receiver(tmp_path, address))
    sql.execute("UPDATE people SET name = 'b'")
    catch_up(receiver(tmp_path, address))
    assert [row["story"] == "long " * 5000 for _, row in records(tmp_path)] == [True, True]
    sql.execute("DROP TABLE people")
    sql.execute("DROP TYPE mood")


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

    def hint(address: str) -> str:
        with pytest.raises(ms.MillstreamError) as error:
            catch_up(receiver(tmp_path, address))
        assert error.value.code == "MS-POSTGRES-006"
        return error.value.hint or ""

    publish = 'CREATE PUBLICATION "millstream_copy_people" FOR TABLE "public"."people" WITH '
    assert publish in hint(server.address("guest"))
    # As its owner did it, but not for all changes.
    sql.execute("CREATE PUBLICATION millstream_copy_people FOR TABLE people WITH (publish = 'insert')")
    assert 'ALTER PUBLICATION "millstream_copy_people" SET (publish = \'insert, upd' in hint(server.address("guest"))
    sql.execute("ALTER PUBLICATION millstream_copy_people SET (publish = 'insert, update, delete, truncate')")
    assert 'ALTER ROLE "guest" REPLICATION;' in hint(server.address("guest"))


def test_a_server_without_logical_replication(tmp_path: Path) -> None:
    with servers.running(("wal_level=replica", "fsync=off", "listen_addresses=127.0.0.1")) as server:
        with psycopg.connect(server.address(), autocommit=True) as connection:
            people(connection)
        with pytest.raises(ms.MillstreamError) as error:
            catch_up(receiver(tmp_path, server.address()))
    assert error.value.code == "MS-POSTGRES-006"
    assert "wal_level = logical" in (error.value.hint or "")


def test_a_slot_that_is_gone(sql: Sql, address: str, tmp_path: Path) -> None:
    people(sql)
    catch_up(receiver(tmp_path, address))
    sql.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
    with pytest.raises(ms.MillstreamError) as error:
        catch_up(receiver(tmp_path, address))
    assert error.value.code == "MS-POSTGRES-007"


def test_a_slot_whose_log_was_thrown_away(sql: Sql, server: Postgres, address: str, tmp_path: Path) -> None:
    people(sql)
    catch_up(receiver(tmp_path, address))
    with psycopg.connect(server.address(), autocommit=True) as root:
        root.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
        root.execute("SELECT pg_reload_conf()")
        try:
            for _ in range(4):
                sql.execute("UPDATE people SET name = name || '!'")
                root.execute("SELECT pg_switch_wal()")
            root.execute("CHECKPOINT")
        finally:
            root.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
            root.execute("SELECT pg_reload_conf()")
    with pytest.raises(ms.MillstreamError) as error:
        catch_up(receiver(tmp_path, address))
    assert error.value.code == "MS-POSTGRES-007"


def test_tables_that_cannot_be_read(sql: Sql, address: str, tmp_path: Path) -> None:
    sql.execute("CREATE TABLE keyless (id INT)")
    sql.execute("CREATE TABLE other (id INT PRIMARY KEY, n INT NOT NULL UNIQUE)")
    sql.execute("ALTER TABLE other REPLICA IDENTITY USING INDEX other_n_key")
    for table in ("keyless", "nowhere", "other"):
        with pytest.raises(ms.MillstreamError) as error:
            receiver(tmp_path, address, table)
        assert error.value.code == "MS-POSTGRES-002"
    with pytest.raises(ms.MillstreamError) as error:
        receiver(tmp_path, "postgresql://app:secret@127.0.0.1:1/postgres")
    assert error.value.code == "MS-POSTGRES-001"
    assert "secret" not in str(error.value)
