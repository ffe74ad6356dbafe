"""Connections: an address, whose password never shows, and errors that say what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def connect(address: str, *, autocommit: bool = False) -> psycopg.Connection[Any]:
    """With an empty address, libpq's own settings count: PGHOST, PGUSER, a password file …"""
    module = psycopg_module()
    try:
        connection: psycopg.Connection[Any] = module.connect(address, autocommit=autocommit, connect_timeout=10)
    except module.OperationalError as error:
        raise unreachable(error) from error
    return connection


def unreachable(error: Exception) -> MillstreamError:
    return MillstreamError(
        "MS-POSTGRES-001",
        "Postgres does not answer.",
        found=str(error).strip().splitlines()[0],
        hint="is the server up, and the address right?",
    )


def split(table: str) -> tuple[str, str]:
    """Schema and name."""
    schema, _, name = table.rpartition(".")
    return schema or "public", name
