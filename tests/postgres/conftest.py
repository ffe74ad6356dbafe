"""One server for all tests here; every test has its own schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
import pytest

from millstream.connectors.postgres.rights import COLUMNS, EPOCHS
from servers import postgres as servers

Sql = psycopg.Connection[Any]
WRITE = "SELECT, INSERT, UPDATE, DELETE"


def one(sql: Sql, query: LiteralString) -> Any:
    """The only value of a query's only row."""
    row = sql.execute(query).fetchone()
    assert row is not None
    return row[0]


@pytest.fixture(scope="session")
def server() -> Iterator[servers.Postgres]:
    with servers.running() as made:
        with psycopg.connect(made.address(), autocommit=True) as connection:
            connection.execute("CREATE ROLE owner LOGIN REPLICATION")
            connection.execute("CREATE ROLE app LOGIN REPLICATION")
            connection.execute("CREATE ROLE guest LOGIN")
            connection.execute("GRANT CREATE ON DATABASE postgres TO owner")
            connection.execute("GRANT ALL ON SCHEMA public TO owner")
            connection.execute(f"ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT {WRITE} ON TABLES TO guest")
        yield made


@pytest.fixture
def address(server: servers.Postgres) -> str:
    """As the owner of the tables, with the right to replicate, who may create publications and tables."""
    return server.address("owner")


@pytest.fixture
def ordinary(server: servers.Postgres, sql: Sql) -> str:
    """As a role that may only write to the existing tables, including that of the epochs."""
    sql.execute(f"CREATE TABLE {EPOCHS} {COLUMNS}")
    return server.address("guest")


@pytest.fixture
def sql(address: str) -> Iterator[Sql]:
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
