"""A slot belongs to one table of one checkpoint, and advances: no change is lost, and no log is kept needlessly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal, postgres
from millstream.connectors.postgres.slot import Slot
from tests.postgres.conftest import Sql, one
from tests.postgres.reception import catch_up, receiver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.server


def ids(folder: Path, table: str = "people") -> list[int]:
    return [json.loads(record.key or b"")["id"] for record in journal.read(folder / "received", table)]


def made(sql: Sql, *tables: str) -> None:
    for table in tables:
        sql.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, name TEXT)")


def write(sql: Sql, *numbers: int, table: str = "people") -> None:
    for number in numbers:
        sql.execute(f"INSERT INTO {table} VALUES (%s)", [number])


def position(sql: Sql) -> int:
    return int(one(sql, "SELECT confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots"))


def now(sql: Sql) -> int:
    return int(one(sql, "SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn"))


@pytest.mark.parametrize(
    ("job", "tables"),
    [
        ("inventory_replication_job_of_the_company", ("inventory_items", "inventory_items_history")),
        ("copy", ("sales.orders", "sales_orders")),
        ("copy", ("people", '"People"')),
        ("übersicht", ("people", "pets")),
    ],
    ids=["long", "schema", "case", "letters"],
)
def test_each_table_has_a_slot_of_its_own(
    job: str, tables: tuple[str, str], sql: Sql, address: str, tmp_path: Path
) -> None:
    sql.execute("CREATE SCHEMA sales")
    try:
        made(sql, *tables)
        for _ in range(2):
            for table in tables:
                catch_up(receiver(tmp_path, address, table.strip('"'), job))
            for table in tables:
                write(sql, len(ids(tmp_path, table.strip('"'))), table=table)
        for table in tables:
            catch_up(receiver(tmp_path, address, table.strip('"'), job))
            assert ids(tmp_path, table.strip('"')) == [0, 1]
    finally:
        sql.execute("DROP SCHEMA sales CASCADE")


def test_a_slot_that_two_tables_are_told_to_share(sql: Sql, address: str, tmp_path: Path) -> None:
    made(sql, "people", "pets")
    catch_up(receiver(tmp_path, address, "people", slot="mine"))
    with pytest.raises(ms.MillstreamError) as error:
        catch_up(receiver(tmp_path, address, "pets", slot="mine"))
    assert error.value.code == "MS-POSTGRES-010"
    assert error.value.hint is not None
    assert "pg_drop_replication_slot('mine')" in error.value.hint
    write(sql, 1)
    catch_up(receiver(tmp_path, address, "people", slot="mine"))
    assert ids(tmp_path) == [1]


def test_a_checkpoint_that_is_moved(sql: Sql, address: str, tmp_path: Path) -> None:
    """Its slot moves along; and a new checkpoint in the old place does not take it."""
    made(sql, "people")
    old, new = tmp_path / "old", tmp_path / "new"
    catch_up(receiver(old, address))
    write(sql, 1)
    old.rename(new)
    catch_up(receiver(new, address))
    write(sql, 2)
    with pytest.raises(ms.MillstreamError) as error:
        catch_up(receiver(old, address))
    assert error.value.code == "MS-POSTGRES-010"
    catch_up(receiver(new, address))
    assert ids(new) == [1, 2]


def test_two_copies_of_a_checkpoint(sql: Sql, address: str, tmp_path: Path) -> None:
    """What one has received, the other would miss: also when it was restored from a backup."""
    made(sql, "people")
    catch_up(receiver(tmp_path / "one", address))
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    write(sql, 1)
    catch_up(receiver(tmp_path / "one", address))
    write(sql, 2)
    with pytest.raises(ms.MillstreamError) as error:
        catch_up(receiver(tmp_path / "two", address))
    assert error.value.code == "MS-POSTGRES-007"
    assert ids(tmp_path / "two") == []
    catch_up(receiver(tmp_path / "one", address))
    assert ids(tmp_path / "one") == [1, 2]


def test_a_table_that_is_written_to_all_the_time(
    sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that there was at the start is received; what comes meanwhile is left for the next look."""
    made(sql, "people")
    catch_up(receiver(tmp_path, address))
    write(sql, 1, 2)
    original, written = Slot.advance, [1, 2]

    def and_write(self: Slot, connection: Any, end: int) -> None:
        original(self, connection, end)
        written.append(written[-1] + 1)
        assert len(written) < 20, "there is no end of it"
        write(sql, written[-1])

    monkeypatch.setattr(Slot, "advance", and_write)
    catch_up(receiver(tmp_path, address))
    assert ids(tmp_path) == [1, 2]
    catch_up(receiver(tmp_path, address))
    assert ids(tmp_path) == written[:-1]


def test_a_reception_that_is_ended_while_there_is_more(
    sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(sql, "people")
    one = receiver(tmp_path, address)
    one.prepare()
    write(sql, *range(10))
    monkeypatch.setattr("millstream.connectors.postgres.slot.AT_ONCE", 1)
    original, ended = Slot.advance, Event()

    def and_end(self: Slot, connection: Any, end: int) -> None:
        original(self, connection, end)
        ended.set()

    with monkeypatch.context() as patched:
        patched.setattr(Slot, "advance", and_end)
        one.receive(ended)
    assert ids(tmp_path) == [0]
    catch_up(receiver(tmp_path, address))
    assert ids(tmp_path) == list(range(10))


def test_a_reception_that_is_ended_while_others_write(
    sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is longer at each look, and holds nothing of the table."""
    made(sql, "people")
    one = receiver(tmp_path, address)
    one.prepare()
    original, ended, looks = Slot.durable, Event(), 0

    def further(self: Slot, connection: Any) -> int:
        nonlocal looks
        looks += 1
        assert looks < 20, "it does not end"
        if looks == 5:
            ended.set()
        return original(self, connection) + looks

    monkeypatch.setattr(Slot, "durable", further)
    one.receive(ended)
    assert looks >= 5


def test_a_quiet_table_in_a_busy_database(sql: Sql, address: str, tmp_path: Path) -> None:
    """The slot advances with what others write, and loses none of its own changes."""
    made(sql, "people", "busy")
    catch_up(receiver(tmp_path, address))
    sql.execute("INSERT INTO busy SELECT n, repeat('x', 100) FROM generate_series(1, 20000) n")
    written = now(sql)
    catch_up(receiver(tmp_path, address))
    assert position(sql) >= written
    write(sql, 1)
    catch_up(receiver(tmp_path, address))
    assert ids(tmp_path) == [1]


def test_a_transaction_that_is_open_while_the_slot_moves_on(sql: Sql, address: str, tmp_path: Path) -> None:
    import psycopg

    made(sql, "people", "busy")
    catch_up(receiver(tmp_path, address))
    with psycopg.connect(address) as other:
        write(other, 1)
        sql.execute("INSERT INTO busy SELECT n, repeat('x', 100) FROM generate_series(1, 20000) n")
        catch_up(receiver(tmp_path, address))
    catch_up(receiver(tmp_path, address))
    assert ids(tmp_path) == [1]


def copied(address: str, folder: Path, mode: Any, spark: SparkSession) -> list[int]:
    """What a job that copies the table has written by the end of a run."""
    path = folder / "journal"
    if not path.exists():
        journal.create(path, "out", 1)
    job = ms.Job("copy", checkpoint=str(folder / "checkpoint"), parallelism=1)
    people = job.table(postgres.changes("people", address=address))
    people.to(journal.sink("out", path=str(path)))
    job.run(mode, spark=spark)
    return [json.loads(record.key or b"")["id"] for record in journal.read(path, "out")]


def slots(sql: Sql) -> int:
    return int(one(sql, "SELECT count(*) FROM pg_replication_slots"))


def test_a_batch_leaves_no_slot(sql: Sql, address: str, tmp_path: Path, spark: SparkSession) -> None:
    """A stream may follow it in the same folder; a batch that follows a stream is of the table as it is then."""
    made(sql, "people")
    write(sql, 1)
    assert copied(address, tmp_path, ms.batch(), spark) == [1]
    assert slots(sql) == 0
    write(sql, 2)
    assert sorted(copied(address, tmp_path, ms.available_now(), spark)) == [1, 1, 2]
    assert slots(sql) == 1
    write(sql, 3)
    assert sorted(copied(address, tmp_path, ms.batch(), spark)) == [1, 1, 1, 2, 2, 3]


def test_a_job_that_is_refused_leaves_no_slot(sql: Sql, address: str, tmp_path: Path, spark: SparkSession) -> None:
    made(sql, "people")
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "letters.txt").write_text("of somebody else")
    with pytest.raises(ms.MillstreamError) as error:
        copied(address, tmp_path, ms.available_now(), spark)
    assert error.value.code == "MS-CHECKPOINT-001"
    assert slots(sql) == 0
