"""A job that follows a table is restored and rescaled: what was received, and which rows there were, goes along."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream.errors import MillstreamError
from millstream.journal.topics import describe
from tests.crash.process import until
from tests.postgres.bills import bills_job, bills_source, change, create, in_step, renew
from tests.postgres.conftest import Sql
from tests.postgres.reception import catch_up, received

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run

pytestmark = [pytest.mark.server, pytest.mark.slow]


def start_of(checkpoint: Path) -> int:
    """The offset of the first record that was not cut off."""
    return describe(checkpoint / "received", "bills").partitions[0].start


def follow(run: Run, address: str, cut: Path | None = None) -> None:
    """Until the job is in step, and something was cut off its journal."""
    until(lambda: bool(run.poll(0.1)) or (in_step(address) and (cut is None or start_of(cut) > 0)))
    assert in_step(address)


def test_restored_elsewhere(sql: Sql, address: str, tmp_path: Path, spark: SparkSession) -> None:
    create(address)
    change(address, 1)
    run = bills_job(address, tmp_path).start(ms.micro_batch("100 ms"), spark=spark)
    follow(run, address, tmp_path / "checkpoint")
    run.stop(savepoint=str(tmp_path / "saved"))
    # Received into the old checkpoint, and acknowledged: nobody else has it.
    change(address, 2)
    catch_up(received(bills_source(address), tmp_path / "checkpoint", "bills"))
    assert (tmp_path / "checkpoint" / "received" / "bills.keys").exists()
    following = bills_job(address, tmp_path, "next", parallelism=2)
    following.restore(str(tmp_path / "saved"), spark=spark)
    renew(address, 3)
    following.run(ms.available_now(), spark=spark)
    assert in_step(address)
    with pytest.raises(MillstreamError, match="is retired"):
        bills_job(address, tmp_path).run(ms.available_now(), spark=spark)


def test_rescaled(sql: Sql, address: str, tmp_path: Path, spark: SparkSession) -> None:
    create(address)
    change(address, 1)
    run = bills_job(address, tmp_path).start(ms.micro_batch("100 ms"), spark=spark)
    try:
        follow(run, address, tmp_path / "checkpoint")
        change(address, 2)
        run.rescale(2)
        renew(address, 3)
        follow(run, address)
    finally:
        run.stop()
    assert in_step(address)
