"""A server that is killed while a job reads from it and writes to it: the job goes on, and all is there once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import millstream as ms
from millstream import postgres

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from servers.postgres import Postgres

pytestmark = [pytest.mark.server, pytest.mark.slow]
Sql = "psycopg.Connection[Any]"
PATIENCE = 600
"""Looks, a tenth of a second each, after which something hangs."""


@pytest.mark.parametrize("mode", [ms.micro_batch("50 ms"), ms.real_time("500 ms")], ids=["micro-batch", "real-time"])
def test_killed_under_a_job(
    mode: Any, sql: Sql, server: Postgres, address: str, tmp_path: Path, spark: SparkSession
) -> None:
    sql.execute("CREATE TABLE bills (id INT PRIMARY KEY, customer INT, price INT)")
    sql.execute("CREATE TABLE seen (op TEXT, id INT, price INT)")
    sql.execute("CREATE TABLE totals (customer INT PRIMARY KEY, total BIGINT)")
    sql.execute("CREATE TABLE one (bills BIGINT, total BIGINT)")
    job = ms.Job("bills", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
    bills = job.table(postgres.changes("bills", address=address))
    bills.select("id", "price").changes().to(postgres.sink("seen", address=address))
    bills.group_by("customer").agg(total="sum(price)").to(postgres.sink("totals", address=address))
    bills.agg(bills="count(*)", total="sum(price)").to(postgres.sink("one", address=address))
    run = job.start(mode, restarts=ms.fixed_delay(attempts=100, delay="100 ms"), spark=spark)
    try:
        for number in range(3):
            change(address, number)
            server.restart()
            change(address, number + 10)
            for _ in range(PATIENCE):
                if in_step(address):
                    break
                run.poll(0.1)
            assert in_step(address)
    finally:
        run.stop()
    assert {failure.error.code for failure in run.failures} == {"MS-POSTGRES-001"}
    with psycopg.connect(address) as connection:
        want = connection.execute("SELECT count(*), sum(price) FROM bills").fetchall()
        assert connection.execute("SELECT * FROM one").fetchall() == want


def change(address: str, number: int) -> None:
    with psycopg.connect(address) as connection:
        first = number * 100
        connection.execute(
            "INSERT INTO bills SELECT n, mod(n, 7), n FROM generate_series(%s::int, %s::int) n", [first, first + 99]
        )
        connection.execute("UPDATE bills SET price = price + 1 WHERE id % 3 = 0")
        connection.execute("DELETE FROM bills WHERE mod(id, 10) = %s", [number % 10])


def in_step(address: str) -> bool:
    """Whether all that was written is what the table says: sums by key, and the changes one by one."""
    with psycopg.connect(address) as connection:
        totals = connection.execute("SELECT customer, sum(price) FROM bills GROUP BY 1 ORDER BY 1").fetchall()
        kept = connection.execute("SELECT customer, total FROM totals ORDER BY 1").fetchall()
        rows = connection.execute("SELECT id, price, 1 FROM bills ORDER BY 1, 2").fetchall()
        weight = "sum(CASE op WHEN 'insert' THEN 1 ELSE -1 END)"
        seen = f"SELECT id, price, {weight} FROM seen GROUP BY 1, 2 HAVING {weight} <> 0 ORDER BY 1, 2"
        return totals == kept and rows == connection.execute(seen).fetchall()
