"""Options for a Delta table that a job writes."""

from __future__ import annotations

from millstream.connectors.delta.sink import DeltaSink
from millstream.plan.options import columns
from millstream.storage import absolute


def sink(path: str, *, partition_by: str | tuple[str, ...] = ()) -> DeltaSink:
    """Appends a stream's rows, or merges a table's rows by its key, each epoch in one commit.

    `partition_by`: the columns by which a new table is divided into folders. An existing table has its own.
    """
    return DeltaSink(absolute(path), columns(partition_by))
