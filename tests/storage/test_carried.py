"""Changes that are received, and rows that wait for a database: both are in the checkpoint, on whichever storage."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from pyspark.sql import SparkSession

import millstream as ms
from millstream.journal.topics import describe
from millstream.reception import retention
from servers import postgres
from tests.postgres import bills
from tests.storage.test_jobs import wait

pytestmark = [pytest.mark.slow, pytest.mark.server]
ON = pytest.mark.parametrize("elsewhere", ["s3", pytest.param("hdfs", marks=pytest.mark.long)], indirect=True)


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Postgres]:
    with postgres.running() as made:
        yield made


@pytest.fixture
def database(server: postgres.Postgres) -> Iterator[str]:
    """One for each test, with the tables of the bills."""
    address = server.address()
    bills.create(address)
    yield address
    with psycopg.connect(address, autocommit=True) as connection:
        for (name,) in connection.execute("SELECT pubname FROM pg_publication").fetchall():
            connection.execute(f'DROP PUBLICATION "{name}"')
        for (slot,) in connection.execute("SELECT slot_name FROM pg_replication_slots").fetchall():
            connection.execute("SELECT pg_drop_replication_slot(%s)", [slot])
        connection.execute("DROP TABLE bills, seen, totals, one")


@ON
def test_from_a_database_to_a_database(
    elsewhere: str, database: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is committed is cut at once; the keys of what was cut are known when the table is emptied."""
    monkeypatch.setattr(retention, "AT_ONCE", 1)
    received = f"{elsewhere}/checkpoint/received"
    bills.change(database, 1)
    for number in (2, 3):
        run = bills.bills_job(database, elsewhere).start(ms.micro_batch("0 seconds"), spark=spark)
        bills.change(database, number)
        wait(run, lambda: bills.in_step(database) and describe(received, "bills").partitions[0].start > 0)
        bills.renew(database, number)
        wait(run, lambda: bills.in_step(database))
        run.stop()
    assert bills.in_step(database)


@ON
def test_a_batch_carries_its_rows(elsewhere: str, database: str, spark: SparkSession) -> None:
    bills.change(database, 1)
    bills.bills_job(database, elsewhere).run(ms.batch(), spark=spark)
    assert bills.in_step(database)
