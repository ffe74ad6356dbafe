"""A server that is silently gone: neither side waits forever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import millstream as ms
from millstream.connectors.postgres.connect import connect
from millstream.connectors.postgres.slot import Slot
from millstream.reception import front
from servers.proxy import Proxy
from tests.crash.process import until
from tests.postgres.reception import receiver, records
from tests.reception.memory_queue import receiving

if TYPE_CHECKING:
    from servers.postgres import Postgres

pytestmark = pytest.mark.server
QUICK = "keepalives_idle=1&keepalives_interval=1&keepalives_count=1&tcp_user_timeout=1000&connect_timeout=2"


@pytest.fixture
def way(server: Postgres, sql: psycopg.Connection[Any]) -> Iterator[Proxy]:
    sql.execute("CREATE TABLE people (id INT PRIMARY KEY)")
    with Proxy() as proxy:
        proxy.to = server.port
        yield proxy


def behind(way: Proxy) -> str:
    return f"postgresql://owner@127.0.0.1:{way.port}/postgres?{QUICK}"


def test_both_sides_are_asked_whether_they_are_there(address: str) -> None:
    """By default, too; and the address takes precedence."""
    for given, idle in ((address, "10"), (f"{address}?keepalives_idle=7", "7")):
        with connect(given) as connection:
            assert connection.info.get_parameters()["keepalives_idle"] == idle
            assert connection.info.get_parameters()["tcp_user_timeout"] == "25000"
            server = "SELECT current_setting('tcp_keepalives_idle'), current_setting('tcp_user_timeout')"
            assert connection.execute(server).fetchone() == (idle, "25000")


def test_a_lock_of_a_client_who_is_gone(way: Proxy) -> None:
    """The client notices, and the server releases what it held."""
    with connect(behind(way)) as one:
        one.execute("LOCK TABLE people")
        way.swallow()
        with pytest.raises(psycopg.OperationalError):
            one.execute("SELECT 1")
    way.mend()
    with connect(behind(way)) as other:
        other.execute("LOCK TABLE people")


@pytest.mark.parametrize("back", [True, False], ids=["comes-back", "stays-away"])
def test_a_reception(
    back: bool, way: Proxy, sql: psycopg.Connection[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It connects again, and gives up after a while."""
    monkeypatch.setattr(front, "PATIENCE", 60 if back else 1)
    made = receiver(tmp_path, behind(way))
    silent = Event()
    original = Slot.durable

    def and_then_silence(self: Slot, connection: Any) -> int:
        place = original(self, connection)
        if not silent.is_set():
            way.swallow()
            silent.set()
        return place

    with receiving(made) as failures:
        monkeypatch.setattr(Slot, "durable", and_then_silence)
        assert silent.wait(60)
        sql.execute("INSERT INTO people VALUES (1)")
        if back:
            way.mend()
        until(lambda: bool(records(tmp_path)) if back else bool(failures))
    assert [error.code for error in failures if isinstance(error, ms.MillstreamError)] == (
        [] if back else ["MS-POSTGRES-001"]
    )
