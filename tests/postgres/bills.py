"""Bills that change, a job that follows them into other tables, and whether it is in step.

It can also be killed: see `crash/serve.py`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

import millstream as ms
from millstream import postgres
from millstream.connectors.postgres import PostgresChanges

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run

TABLES = """
CREATE TABLE bills (id INT PRIMARY KEY, customer INT, price INT);
CREATE TABLE seen (op TEXT, id INT, price INT);
CREATE TABLE totals (customer INT PRIMARY KEY, total BIGINT);
CREATE TABLE one (bills BIGINT, total BIGINT);
"""


def create(address: str) -> None:
    with psycopg.connect(address) as connection:
        connection.execute(TABLES)


def bills_source(address: str) -> PostgresChanges:
    """What it receives is cut often: its segments are small."""
    source = postgres.changes("bills", address=address)
    return replace(source, limits=replace(source.limits, segment_bytes=4096))


def bills_job(address: str, folder: str | Path, checkpoint: str = "checkpoint", parallelism: int = 1) -> ms.Job:
    """Every change as it comes, what each customer pays, and all of it in one row."""
    job = ms.Job("bills", checkpoint=f"{folder}/{checkpoint}", parallelism=parallelism)
    bills = job.table(bills_source(address))
    bills.select("id", "price").changes().to(postgres.sink("seen", address=address))
    bills.group_by("customer").agg(total="sum(price)").to(postgres.sink("totals", address=address))
    bills.agg(bills="count(*)", total="sum(price)").to(postgres.sink("one", address=address))
    return job


def change(address: str, number: int) -> None:
    with psycopg.connect(address) as connection:
        first = number * 100
        connection.execute(
            "INSERT INTO bills SELECT n, mod(n, 7), n FROM generate_series(%s::int, %s::int) n", [first, first + 99]
        )
        connection.execute("UPDATE bills SET price = price + 1 WHERE id % 3 = 0")
        connection.execute("DELETE FROM bills WHERE mod(id, 10) = %s", [number % 10])


def renew(address: str, number: int) -> None:
    """All bills are deleted at once, in the middle of a transaction."""
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE bills SET price = price + 1")
        connection.execute("TRUNCATE bills")
        connection.execute("INSERT INTO bills SELECT n, mod(n, 7), n FROM generate_series(1, %s::int) n", [50 + number])


def in_step(address: str) -> bool:
    """Whether everything written agrees with the table: sums by key, and the changes one by one."""
    with psycopg.connect(address) as connection:
        totals = connection.execute("SELECT customer, sum(price) FROM bills GROUP BY 1 ORDER BY 1").fetchall()
        kept = connection.execute("SELECT customer, total FROM totals ORDER BY 1").fetchall()
        rows = connection.execute("SELECT id, price, 1 FROM bills ORDER BY 1, 2").fetchall()
        weight = "sum(CASE op WHEN 'insert' THEN 1 ELSE -1 END)"
        seen = f"SELECT id, price, {weight} FROM seen GROUP BY 1, 2 HAVING {weight} <> 0 ORDER BY 1, 2"
        return totals == kept and rows == connection.execute(seen).fetchall()


def start(spark: SparkSession, folder: str, address: str, mode: str) -> Run:
    modes: dict[str, ms.Mode] = {"real-time": ms.real_time("300 ms"), "micro-batch": ms.micro_batch("0 seconds")}
    return bills_job(address, folder).start(modes[mode], spark=spark)
