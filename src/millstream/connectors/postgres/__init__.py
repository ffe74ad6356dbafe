"""Postgres as source and sink of jobs."""

from millstream.connectors.postgres.changes import PostgresChanges
from millstream.connectors.postgres.sink import PostgresSink

__all__ = ["PostgresChanges", "PostgresSink"]
