"""A server that is silently gone: neither side waits forever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import millstream as ms
from millstream import postgres
from millstream.connectors.postgres.connect import connect
from millstream.connectors.postgres.slot import Slot
from millstream.storage import CheckpointFolder
from servers.proxy import Proxy

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


def test_a_reception(way: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = (
        postgres.changes("people", address=behind(way))
        .bound("copy", CheckpointFolder.at(str(tmp_path)).received)
        .receiver()
    )
    receiver.prepare()
    original = Slot.durable

    def and_then_silence(self: Slot, connection: Any) -> int:
        place = original(self, connection)
        way.swallow()
        return place

    monkeypatch.setattr(Slot, "durable", and_then_silence)
    with pytest.raises(ms.MillstreamError) as error:
        receiver.receive(Event())
    assert error.value.code == "MS-POSTGRES-001"
