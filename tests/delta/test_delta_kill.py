"""A job that writes to Delta tables is killed at named places: nothing is missing, nothing is there twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from crash.process import Process, committed, dead, until
from delta.orders import check, expected, rows, send
from millstream import journal
from millstream.testing.faults import CARRY_POINTS, Fault

pytestmark = pytest.mark.slow
POINTS = ("commits.after", *CARRY_POINTS)
"""Those at which an epoch is on its way into the tables; tests/crash has the others."""
PART = 200


def process(folder: Path, mode: str, fault: Fault | None = None) -> Process:
    return Process(Path(__file__).with_name("delta_job.py"), [str(folder), mode], folder, fault)


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_killed_at_each_named_point(tmp_path: Path, mode: str) -> None:
    journal.create(tmp_path / "journal", "orders", 2)
    sent = 0
    for point in POINTS:
        send(tmp_path, range(sent, sent + PART))
        sent += PART
        job = process(tmp_path, mode, Fault(point, committed(tmp_path / "checkpoint") + 1))
        until(lambda job=job: dead(job))  # type: ignore[misc]
        job.kill()
        assert f"fault: killed at {point}" in (tmp_path / "log.txt").read_text()
    job = process(tmp_path, mode)
    try:
        wanted = expected(sent)
        until(lambda: (rows(tmp_path / "orders"), rows(tmp_path / "spending")) == wanted, job, every=0.5)
    finally:
        job.kill()
    check(tmp_path, sent)
