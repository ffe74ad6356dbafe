"""Tables of Postgres as sinks: every epoch once, whatever breaks, and whenever."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal, postgres
from millstream.connectors.postgres.carrier import PostgresCarrier
from millstream.plan.connectors import Carried
from tests.postgres.conftest import Sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from servers.postgres import Postgres

pytestmark = pytest.mark.server
ROWS = [{"id": n, "customer": n % 5, "price": n} for n in range(100)]


@pytest.fixture
def path(tmp_path: Path, sql: Sql) -> str:
    made = str(tmp_path / "journal")
    journal.create(made, "orders", 2)
    with journal.producer(made, "orders") as producer:
        for row in ROWS:
            producer.send(row)
    sql.execute('CREATE TABLE "all orders" (id BIGINT, customer INT, price NUMERIC)')
    sql.execute("CREATE TABLE spending (customer INT PRIMARY KEY, total BIGINT, orders BIGINT)")
    return made


def job(path: str, address: str, checkpoint: Path, rows_per_epoch: int | None = 17) -> ms.Job:
    """All orders as they are, and what each customer spends, without those who spend little."""
    made = ms.Job("orders", checkpoint=str(checkpoint), parallelism=2)
    source = journal.source("orders", path=path, max_rows_per_epoch=rows_per_epoch)
    orders = made.stream(source, "id BIGINT, customer INT, price INT")
    orders.to(postgres.sink("all orders", address=address))
    spending = orders.group_by("customer").agg(total="sum(price)", orders="count(*)")
    spending.where("total % 2 = 0").to(postgres.sink("spending", address=address))
    return made


def check(sql: Sql) -> None:
    ids = [row[0] for row in sql.execute('SELECT id FROM "all orders" ORDER BY id')]
    assert ids == [row["id"] for row in ROWS]
    want = {}
    for customer in range(5):
        mine = [row["price"] for row in ROWS if row["customer"] == customer]
        if sum(mine) % 2 == 0:
            want[customer] = (sum(mine), len(mine))
    found = {row[0]: row[1:] for row in sql.execute("SELECT customer, total, orders FROM spending")}
    assert want
    assert found == want


def test_appends_and_upserts(path: str, ordinary: str, sql: Sql, tmp_path: Path, spark: SparkSession) -> None:
    now = job(path, ordinary, tmp_path / "checkpoint").run(ms.available_now(), spark=spark).metrics()
    check(sql)
    assert now.sink("all orders").rows == len(ROWS)
    last = now.last_epoch.epoch if now.last_epoch else None
    assert {(sink.prepared, sink.published) for sink in now.sinks} == {(last, last)}
    outbox = tmp_path / "checkpoint" / "outbox"
    topics = [path for path in outbox.iterdir() if path.is_dir()]
    assert len(topics) == 2
    assert all(len(list((topic / "0").glob("*.seg"))) <= 2 for topic in topics)
    sql.execute('TRUNCATE "all orders", spending')
    job(path, ordinary, tmp_path / "other").run(ms.batch(), spark=spark)
    check(sql)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_crash_while_an_epoch_is_carried(
    moment: str,
    path: str,
    ordinary: str,
    sql: Sql,
    tmp_path: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = PostgresCarrier.carry

    def carry(self: PostgresCarrier, epoch: int, records: Iterable[Carried]) -> None:
        if epoch == 3 and moment == "before":
            raise InterruptedError
        original(self, epoch, records)
        if epoch == 3:
            raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr(PostgresCarrier, "carry", carry)
        with pytest.raises(ms.MillstreamError):
            job(path, ordinary, tmp_path / "checkpoint").run(ms.available_now(), spark=spark)
    job(path, ordinary, tmp_path / "checkpoint").run(ms.available_now(), spark=spark)
    check(sql)


@dataclass(frozen=True)
class StartsAgain:
    """A policy that brings the server back."""

    server: Postgres

    def delay_ms(self, failures: Sequence[float]) -> int | None:
        self.server.restart()
        return 0


def test_a_server_that_goes_away(
    path: str, server: Postgres, ordinary: str, sql: Sql, tmp_path: Path, spark: SparkSession, monkeypatch: Any
) -> None:
    """Killed while a job writes to it: the job continues by itself when it is back."""
    original = PostgresCarrier.carry
    killed: list[int] = []

    def carry(self: PostgresCarrier, epoch: int, records: Iterable[Carried]) -> None:
        if epoch == 2 and not killed:
            killed.append(epoch)
            server.stop()
        original(self, epoch, records)

    monkeypatch.setattr(PostgresCarrier, "carry", carry)
    made = job(path, ordinary, tmp_path / "checkpoint")
    run = made.start(ms.available_now(), restarts=StartsAgain(server), spark=spark)
    run.wait()
    assert [failure.error.code for failure in run.failures] == ["MS-POSTGRES-001"]
    import psycopg

    with psycopg.connect(ordinary) as connection:
        check(connection)


def test_tables_that_do_not_fit(path: str, ordinary: str, sql: Sql, tmp_path: Path, spark: SparkSession) -> None:
    sql.execute("ALTER TABLE spending DROP CONSTRAINT spending_pkey")
    with pytest.raises(ms.MillstreamError) as error:
        job(path, ordinary, tmp_path / "checkpoint").run(ms.available_now(), spark=spark)
    assert error.value.code == "MS-POSTGRES-002"
    assert error.value.hint == 'ALTER TABLE "public"."spending" ADD PRIMARY KEY ("customer")'


def test_from_one_table_to_another(address: str, sql: Sql, tmp_path: Path, spark: SparkSession) -> None:
    """Changes of two tables, joined, and kept right in a third one, in real time."""
    sql.execute("CREATE TABLE bills (id INT PRIMARY KEY, customer INT, price INT)")
    sql.execute("CREATE TABLE customers (id INT PRIMARY KEY, name TEXT)")
    sql.execute("CREATE TABLE named (id INT, name TEXT, price INT, customer INT, PRIMARY KEY (id))")
    sql.execute("INSERT INTO customers VALUES (1, 'ann'), (2, 'bob')")
    sql.execute("INSERT INTO bills VALUES (10, 1, 5), (11, 2, 6)")
    made = ms.Job("named", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
    bills = made.table(postgres.changes("bills", address=address)).as_("b")
    customers = made.table(postgres.changes("customers", address=address)).as_("c")
    joined = bills.join(customers, on="b.customer = c.id").select("b.id", "c.name", "b.price", customer="c.id")
    joined.to(postgres.sink("named", address=address))

    def found() -> set[tuple[Any, ...]]:
        return set(sql.execute("SELECT id, name, price FROM named").fetchall())

    run = made.start(ms.real_time("500 ms"), spark=spark)
    try:
        until(run, lambda: found() == {(10, "ann", 5), (11, "bob", 6)})
        sql.execute("UPDATE customers SET name = 'anna' WHERE id = 1")
        sql.execute("DELETE FROM bills WHERE id = 11")
        until(run, lambda: found() == {(10, "anna", 5)})
    finally:
        run.stop()


def until(run: Any, true: Any) -> None:
    """A bounded wait, which ends with the job's own error if it fails."""
    for _ in range(600):
        if true():
            return
        run.poll(0.1)
    raise AssertionError("it does not come")
