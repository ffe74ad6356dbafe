"""A job from Postgres to Postgres is killed at named places: nothing is lost or duplicated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.journal.topics import describe
from millstream.testing.faults import CARRY_POINTS, RECEIVE_POINTS, Fault
from servers import postgres as servers
from servers.proxy import Proxy
from tests.crash.lives import Lives
from tests.crash.process import committed, until
from tests.postgres.bills import change, create, in_step, renew
from tests.postgres.conftest import Sql

pytestmark = [pytest.mark.server, pytest.mark.slow]
POINTS = {"micro-batch": CARRY_POINTS, "real-time": ("carry.during",)}
"""Those at which an epoch is on its way into the tables: there both modes are alike."""
IN_EARNEST = "carry.during"
"""Where the process dies; at the other points an image of it continues."""


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    with Lives("tests.postgres.bills", tmp_path_factory.mktemp("lives")) as made:
        yield made


@pytest.fixture
def proxy(server: servers.Postgres) -> Iterator[Proxy]:
    """The job's proxy to the server."""
    with Proxy() as made:
        made.to = server.port
        yield made


@pytest.mark.parametrize("mode", POINTS)
def test_killed_at_each_named_point(
    mode: str, sql: Sql, address: str, proxy: Proxy, lives: Lives, tmp_path: Path
) -> None:
    create(address)
    folder = tmp_path / "run"
    lives.of(folder, f"postgresql://owner@127.0.0.1:{proxy.port}/postgres", mode)
    for number, point in enumerate(POINTS[mode]):
        change(address, number)
        fault = Fault(point, committed(folder / "checkpoint") + 1)
        if point == IN_EARNEST:
            lives.killed(fault)
        else:
            lives.imaged(fault, proxy)
    change(address, 9)
    lives.begin()
    until(lambda: in_step(address), every=0.2)
    lives.stop()
    assert in_step(address)


@pytest.mark.parametrize("mode", POINTS)
def test_killed_while_it_receives(
    mode: str, sql: Sql, address: str, proxy: Proxy, lives: Lives, tmp_path: Path
) -> None:
    """Also while a table is emptied whose journal was cut."""
    create(address)
    folder = tmp_path / "run"
    lives.of(folder, f"postgresql://owner@127.0.0.1:{proxy.port}/postgres", mode)
    change(address, 0)
    lives.begin()
    until(lambda: cut(folder) and in_step(address), every=0.2)
    lives.stop()
    for number, point in enumerate(RECEIVE_POINTS, 1):
        change(address, number)
        renew(address, number)
        if point == "receive.sync.after":
            lives.killed(Fault(point))
        else:
            lives.imaged(Fault(point), proxy)
    change(address, 9)
    lives.begin()
    until(lambda: in_step(address), every=0.2)
    lives.stop()
    assert in_step(address)


def cut(folder: Path) -> bool:
    """Whether something was cut off what the job has received."""
    received = folder / "checkpoint" / "received"
    return (received / "bills").exists() and describe(received, "bills").partitions[0].start > 0
