"""A job that is behind, a short disk and a full one hold the changes of a table back: they wait in the slot."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal, postgres
from millstream.connectors.postgres import client
from millstream.connectors.postgres.begun import Notes
from millstream.reception import front
from millstream.reception import pressure as pressures
from tests.crash.process import until
from tests.postgres.conftest import Sql
from tests.postgres.reception import Follower, in_small_segments, in_table, people, receiver
from tests.reception.memory_queue import receiving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.server


def test_a_job_that_is_behind(sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pressures, "LOOK", 0.0)
    people(sql)
    follower = Follower(tmp_path)
    made = in_small_segments(tmp_path, address, 500, buffer_bytes=4000)
    with receiving(made) as failures:
        written = 3
        while made._pressure.reason is None:
            written += 1
            sql.execute("INSERT INTO people VALUES (%s)", [written])
            until(lambda: made._pressure.reason is not None or follower.follow() == in_table(sql), every=0.001)
        sql.execute("INSERT INTO people SELECT n FROM generate_series(1000, 1100) n")
        until(lambda: (made.figures.behind_bytes or 0) > 0)
        assert 1000 not in follower.follow()

        def committed() -> bool:
            made.cut({0: follower.next})
            return follower.follow() == in_table(sql)

        until(committed)
    assert not failures


def test_no_transaction_is_left_open(sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the job is behind in the middle of a large transaction, in which a table is emptied, too."""
    monkeypatch.setattr(pressures, "LOOK", 0.0)
    monkeypatch.setattr(front, "REST", 0.01)
    monkeypatch.setattr(front, "AT_ONCE", 10)
    people(sql)
    follower = Follower(tmp_path)
    made = in_small_segments(tmp_path, address, 500, buffer_bytes=4000)
    with receiving(made) as failures:
        with sql.transaction():
            sql.execute("INSERT INTO people SELECT n FROM generate_series(4, 300) n")
            sql.execute("TRUNCATE people")
            sql.execute("INSERT INTO people SELECT n FROM generate_series(1, 200) n")

        def in_step() -> bool:
            until(lambda: made._pressure.reason is None or waiting(sql) == 0)
            made.cut({0: follower.next})
            return follower.follow() == in_table(sql)

        monkeypatch.setattr(client, "LEFT_OPEN", 0.05)
        until(lambda: made._pressure.reason is not None)
        until(in_step)
    assert not failures
    assert follower.deletions == 300
    assert made.figures.duplicates > 0


def waiting(sql: Sql) -> int:
    """How many transactions of others are open, and idle."""
    found = sql.execute("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'").fetchone()
    assert found is not None
    return int(found[0])


def test_a_short_disk(sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pressures, "LOOK", 0.0)
    people(sql)
    follower = Follower(tmp_path)
    made = receiver(tmp_path, address)
    made._pressure.free = 1 << 60
    with receiving(made):
        sql.execute("INSERT INTO people VALUES (4)")
        until(lambda: made._pressure.reason is not None)
        assert 4 not in follower.follow()
        made._pressure.free = 0
        until(lambda: follower.follow() == in_table(sql))


def test_a_full_disk(sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal cannot be written to, and then the note of what is acknowledged cannot."""
    full, tried = Event(), [Event(), Event()]
    write: Callable[[int, bytes, int], int] = os.pwrite
    note = Notes.acknowledge

    def pwrite(fd: int, data: bytes, at: int) -> int:
        if full.is_set() and not tried[0].is_set():
            tried[0].set()
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, data, at)

    def acknowledge(self: Notes, place: int) -> None:
        if full.is_set() and not tried[1].is_set():
            tried[1].set()
            raise OSError(errno.ENOSPC, "No space left on device")
        note(self, place)

    people(sql)
    follower = Follower(tmp_path)
    made = receiver(tmp_path, address)
    with receiving(made) as failures:
        monkeypatch.setattr(os, "pwrite", pwrite)
        monkeypatch.setattr(Notes, "acknowledge", acknowledge)
        full.set()
        sql.execute("INSERT INTO people VALUES (4), (5)")
        until(lambda: follower.follow() == in_table(sql) and made.figures.acknowledged == 2)
    assert not failures
    assert all(one.is_set() for one in tried)


def test_the_figures_of_a_run(sql: Sql, address: str, tmp_path: Path, spark: SparkSession) -> None:
    people(sql)
    journal.create(tmp_path / "journal", "out")
    job = ms.Job("copy", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
    job.table(postgres.changes("people", address=address)).to(journal.sink("out", path=str(tmp_path / "journal")))
    job.run(ms.available_now(), spark=spark)
    sql.execute("INSERT INTO people SELECT n FROM generate_series(4, 13) n")
    sql.execute("DELETE FROM people WHERE id = 1")
    counted = job.run(ms.available_now(), spark=spark).metrics().source("people").reception
    assert counted is not None
    assert (counted.received, counted.acknowledged, counted.duplicates) == (11, 11, 0)
    assert (counted.waiting, counted.behind_bytes) == (None, 0)
