"""Publication and replication slot: made if that is allowed; otherwise the SQL for whoever may."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from millstream.connectors.postgres.connect import psycopg_module, split
from millstream.connectors.postgres.table import Table, quoted
from millstream.errors import MillstreamError

HOLDS = "SELECT 1 FROM pg_publication_tables WHERE pubname = %s AND schemaname = %s AND tablename = %s"
AT_ONCE = 50_000
"""About so many changes are asked for at a time; a transaction is never cut."""


@dataclass(frozen=True)
class Slot:
    table: Table
    publication: str
    name: str

    def create(self, connection: Any) -> None:
        """First the slot, then the snapshot: no change can fall between the two."""
        there = connection.execute("SELECT 1 FROM pg_publication WHERE pubname = %s", [self.publication]).fetchone()
        holds = connection.execute(HOLDS, [self.publication, *split(self.table.name)]).fetchone()
        connection.commit()
        if there is None:
            publish = f"CREATE PUBLICATION {quoted(self.publication)} FOR TABLE {self.table.qualified}"
            self._allowed(connection, publish)
        elif holds is None:
            self._allowed(connection, f"ALTER PUBLICATION {quoted(self.publication)} ADD TABLE {self.table.qualified}")
        slot = f"SELECT pg_create_logical_replication_slot('{self.name}', 'pgoutput')"
        self._allowed(connection, slot)

    def _allowed(self, connection: Any, sql: str) -> None:
        module = psycopg_module()
        try:
            connection.execute(sql)
            connection.commit()
        except module.OperationalError:
            raise
        except module.Error as error:
            connection.rollback()
            raise MillstreamError(
                "MS-POSTGRES-006",
                f'changes of table "{self.table.name}" cannot be had: {str(error).strip().splitlines()[0]}.',
                hint=f"have somebody who may do so run: {sql};",
            ) from error

    def check(self, connection: Any) -> None:
        found = connection.execute("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", [self.name]).fetchone()
        connection.commit()
        if found is None:
            raise MillstreamError(
                "MS-POSTGRES-007",
                f'the replication slot "{self.name}" of table "{self.table.name}" is gone, and changes with it.',
                hint="begin anew with another checkpoint folder",
            )

    def drop(self, connection: Any) -> None:
        connection.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", [self.name]
        )
        connection.commit()

    def peek(self, connection: Any) -> Iterator[bytes]:
        """Messages from where the slot stands; read as they are asked for, so that none need fit into memory."""
        query = "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, NULL, %s, 'proto_version', '1', "
        query += "'publication_names', %s)"
        with connection.transaction(), connection.cursor("millstream_changes") as rows:
            rows.execute(query, [self.name, AT_ONCE, quoted(self.publication)])
            for row in rows:
                yield row[0]

    def advance(self, connection: Any, end: int) -> None:
        connection.execute("SELECT pg_replication_slot_advance(%s, %s::pg_lsn)", [self.name, lsn(end)])
        connection.commit()


def lsn(position: int) -> str:
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"
