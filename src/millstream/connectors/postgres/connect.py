"""Connections: an address, whose password never shows, and errors that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from millstream.connectors.postgres.errors import unreachable
from millstream.errors import MillstreamError

if TYPE_CHECKING:
    import psycopg


def psycopg_module() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise MillstreamError(
            "MS-POSTGRES-003", "the Python package psycopg is missing.", hint="pip install 'millstream[postgres]'"
        ) from error
    return psycopg


PATIENCE = {
    "connect_timeout": "10",
    "keepalives": "1",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
}
"""In libpq's words: a server that is silently gone is noticed after 25 seconds. The address takes precedence."""
TOLD = {f"tcp_{name}": name for name in ("keepalives_idle", "keepalives_interval", "keepalives_count")}
TOLD["tcp_user_timeout"] = "tcp_user_timeout"
"""The same for the server, in its terms, so that it does not keep locks and slots of a client that is gone."""


def connect(address: str) -> psycopg.Connection[Any]:
    """With an empty address, libpq's own settings apply: PGHOST, PGUSER, a password file …"""
    module = psycopg_module()
    try:
        settings = {**PATIENCE, **module.conninfo.conninfo_to_dict(address)}
        connection: psycopg.Connection[Any] = module.connect(**settings)
        connection.execute(
            "SELECT " + ", ".join(f"set_config('{name}', %s, false)" for name in TOLD),
            [settings[name] for name in TOLD.values()],
        )
        connection.commit()
    except module.OperationalError as error:
        raise unreachable(error) from error
    return connection


@contextmanager
def guarded() -> Iterator[None]:
    """Within it, a server that does not answer is an error of ours."""
    module = psycopg_module()
    try:
        yield
    except module.OperationalError as error:
        raise unreachable(error) from error


def connect_to_read(address: str) -> psycopg.Connection[Any]:
    """The text of a value must not depend on the reader's settings."""
    connection = connect(address)
    with guarded():
        connection.execute(
            "SET datestyle = ISO; SET timezone = 'UTC'; SET bytea_output = hex; SET intervalstyle = iso_8601"
        )
        connection.commit()
    return connection


def split(table: str) -> tuple[str, str]:
    """Schema and name."""
    schema, _, name = table.rpartition(".")
    return schema or "public", name
