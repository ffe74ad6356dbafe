"""Postgres as source and sink of jobs."""

from millstream.connectors.postgres.options import changes, sink
from millstream.connectors.postgres.sink import PostgresSink
from millstream.connectors.postgres.source import PostgresChanges

__all__ = ["PostgresChanges", "PostgresSink", "changes", "sink"]
