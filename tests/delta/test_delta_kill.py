"""A job that writes to Delta tables is killed at named places: nothing is lost or duplicated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream import journal
from millstream.testing.faults import CARRY_POINTS, Fault
from tests.crash.lives import Lives
from tests.crash.process import committed, until
from tests.delta.orders import check, expected, rows, send

pytestmark = pytest.mark.slow
POINTS = ("commits.after", *CARRY_POINTS)
"""Those at which an epoch is on its way into the tables; tests/crash has the others."""
IN_EARNEST = "carry.during"
"""Where the process dies; at the other points an image of it continues."""
PART = 200


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    with Lives("tests.delta.delta_job", tmp_path_factory.mktemp("lives")) as made:
        yield made


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_killed_at_each_named_point(tmp_path: Path, mode: str, lives: Lives) -> None:
    folder = tmp_path / "run"
    lives.of(folder, mode)
    journal.create(folder / "journal", "orders", 2)
    sent = 0
    for point in POINTS:
        send(folder, range(sent, sent + PART))
        sent += PART
        fault = Fault(point, committed(folder / "checkpoint") + 1)
        if point == IN_EARNEST:
            lives.killed(fault)
        else:
            lives.imaged(fault)
    wanted = expected(sent)
    lives.begin()
    until(lambda: (rows(folder / "orders"), rows(folder / "spending")) == wanted, every=0.2)
    lives.stop()
    check(folder, sent)
