"""Options for a Postgres table that a job reads or writes."""

from __future__ import annotations

import os
from dataclasses import replace

from millstream.connectors.message_source import check_buffer
from millstream.connectors.postgres.errors import CHECKS
from millstream.connectors.postgres.sink import PostgresSink
from millstream.connectors.postgres.source import LIMITS, PostgresChanges


def changes(
    table: str,
    *,
    address: str | None = None,
    publication: str | None = None,
    slot: str | None = None,
    buffer_bytes: int = LIMITS.buffer_bytes,
) -> PostgresChanges:
    """The table as it is, and then every change: `job.table(postgres.changes("people"))`.

    `address`: as libpq has it, `postgresql://user@host/db`; otherwise `$MILLSTREAM_POSTGRES`, or libpq's own settings.
    `buffer_bytes`: how much may wait in the checkpoint until the job has read it; then no more is received.
    """
    check_buffer(CHECKS, buffer_bytes)
    return PostgresChanges(
        table, address_of(address), publication, slot, limits=replace(LIMITS, buffer_bytes=buffer_bytes)
    )


def sink(table: str, *, address: str | None = None) -> PostgresSink:
    """Writes a stream's rows, or a table's rows by its key, each epoch in one transaction."""
    return PostgresSink(table, address_of(address))


def address_of(address: str | None) -> str:
    return address if address is not None else os.environ.get("MILLSTREAM_POSTGRES", "")
