"""Tables of Postgres."""

from millstream.connectors.postgres import PostgresChanges, PostgresSink, changes, sink

__all__ = ["PostgresChanges", "PostgresSink", "changes", "sink"]
