"""A job from Postgres to Postgres is killed at named places: nothing is missing, nothing is there twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from crash.process import Process, committed, dead, until
from millstream.testing.faults import CARRY_POINTS, Fault
from postgres.bills import change, create, in_step

pytestmark = [pytest.mark.server, pytest.mark.slow]
POINTS = {"micro-batch": CARRY_POINTS, "real-time": ("carry.during",)}
"""Those at which an epoch is on its way into the tables: there both modes are alike."""
Sql = "psycopg.Connection[Any]"


def process(folder: Path, address: str, mode: str, fault: Fault | None = None) -> Process:
    return Process(Path(__file__).with_name("bills.py"), [address, str(folder), mode], folder, fault)


@pytest.mark.parametrize("mode", POINTS)
def test_killed_at_each_named_point(mode: str, sql: Sql, address: str, tmp_path: Path) -> None:
    create(address)
    for number, point in enumerate(POINTS[mode]):
        change(address, number)
        job = process(tmp_path, address, mode, Fault(point, committed(tmp_path / "checkpoint") + 1))
        until(lambda job=job: dead(job))  # type: ignore[misc]
        job.kill()
        assert f"fault: killed at {point}" in (tmp_path / "log.txt").read_text()
    change(address, 9)
    job = process(tmp_path, address, mode)
    try:
        until(lambda: in_step(address), job, every=0.5)
    finally:
        job.kill()
