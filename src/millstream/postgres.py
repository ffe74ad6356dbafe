"""Tables of Postgres."""

from millstream.connectors.postgres import PostgresChanges, PostgresSink
from millstream.connectors.postgres.options import changes, sink

__all__ = ["PostgresChanges", "PostgresSink", "changes", "sink"]
