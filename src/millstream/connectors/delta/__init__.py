"""Delta tables as sinks of jobs."""

from __future__ import annotations

from millstream.connectors.delta.sink import DeltaSink
from millstream.connectors.journal.options import absolute

__all__ = ["DeltaSink", "sink"]


def sink(path: str, *, partition_by: str | tuple[str, ...] = ()) -> DeltaSink:
    """Appends a stream's rows, or merges a table's rows by its key, each epoch in one commit.

    `partition_by`: the columns by which a new table is divided into folders. A table that is there has its own.
    """
    return DeltaSink(absolute(path), (partition_by,) if isinstance(partition_by, str) else tuple(partition_by))
