"""One server for all tests here; every test has a schema of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from servers import postgres as servers


@pytest.fixture(scope="session")
def server() -> Iterator[servers.Postgres]:
    with servers.running() as made:
        with psycopg.connect(made.address(), autocommit=True) as connection:
            connection.execute("CREATE ROLE app LOGIN REPLICATION")
            connection.execute("CREATE ROLE guest LOGIN")
            connection.execute("GRANT CREATE ON DATABASE postgres TO app")
            connection.execute("GRANT ALL ON SCHEMA public TO app")
        yield made


@pytest.fixture
def address(server: servers.Postgres) -> str:
    """As an ordinary user with the right to replicate."""
    return server.address("app")


@pytest.fixture
def sql(address: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(address, autocommit=True) as connection:
        yield connection
    # Another one: the server may have been away.
    with psycopg.connect(address, autocommit=True) as connection:
        for (name,) in connection.execute("SELECT pubname FROM pg_publication").fetchall():
            connection.execute(f'DROP PUBLICATION "{name}"')
        names = [row[0] for row in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        for name in names:
            connection.execute(f'DROP TABLE IF EXISTS "{name}" CASCADE')
        for (slot,) in connection.execute("SELECT slot_name FROM pg_replication_slots").fetchall():
            connection.execute("SELECT pg_drop_replication_slot(%s)", [slot])
