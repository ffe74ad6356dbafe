"""A server that is killed while a job reads from it and writes to it: the job continues, and all is there once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import millstream as ms
from tests.postgres.bills import bills_job, change, create, in_step
from tests.postgres.conftest import Sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from servers.postgres import Postgres

pytestmark = [pytest.mark.server, pytest.mark.slow]
PATIENCE = 600
"""Looks, a tenth of a second each, after which something hangs."""


@pytest.mark.parametrize("mode", [ms.micro_batch("50 ms"), ms.real_time("500 ms")], ids=["micro-batch", "real-time"])
def test_killed_under_a_job(
    mode: Any, sql: Sql, server: Postgres, address: str, tmp_path: Path, spark: SparkSession
) -> None:
    create(address)
    job = bills_job(address, tmp_path)
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
