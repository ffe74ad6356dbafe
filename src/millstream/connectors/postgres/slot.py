"""Publication and replication slot: created if that is allowed; otherwise the SQL for an administrator to run."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from millstream.connectors.postgres.connect import psycopg_module, split
from millstream.connectors.postgres.table import Table, quoted
from millstream.errors import MillstreamError

HOLDS = "SELECT 1 FROM pg_publication_tables WHERE pubname = %s AND schemaname = %s AND tablename = %s"
WHOLE = """SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate AND (pubviaroot OR NOT EXISTS (
SELECT 1 FROM pg_class WHERE oid = to_regclass(%s) AND relkind = 'p')) FROM pg_publication WHERE pubname = %s"""
ALL = "publish = 'insert, update, delete, truncate', publish_via_partition_root = true"
UNCONNECTED = ("08", "57")
"""Postgres' classes of errors of a connection that is gone."""
AT_ONCE = 50_000
"""Asks for about this many changes at a time; a transaction is never cut."""


@dataclass(frozen=True)
class Slot:
    table: Table
    publication: str
    name: str

    def create(self, connection: Any) -> int:
        """First the slot, then the snapshot: no change can fall between the two. Returns its position in the log."""
        there = connection.execute("SELECT 1 FROM pg_publication WHERE pubname = %s", [self.publication]).fetchone()
        holds = connection.execute(HOLDS, [self.publication, *split(self.table.name)]).fetchone()
        connection.commit()
        if there is None:
            tables = f"{self.table.qualified} WITH ({ALL})"
            self._allowed(connection, f"CREATE PUBLICATION {quoted(self.publication)} FOR TABLE {tables}")
        elif holds is None:
            self._allowed(connection, f"ALTER PUBLICATION {quoted(self.publication)} ADD TABLE {self.table.qualified}")
        (whole,) = connection.execute(WHOLE, [self.table.qualified, self.publication]).fetchone()
        connection.commit()
        if not whole:
            self._allowed(connection, f"ALTER PUBLICATION {quoted(self.publication)} SET ({ALL})")
        self._allowed(connection, f"SELECT pg_create_logical_replication_slot('{self.name}', 'pgoutput')")
        found = self._found(connection)
        assert found is not None
        return found.place

    def require_free(self, connection: Any) -> None:
        """An error if there is such a slot: its owner would miss what another receives."""
        if self._found(connection) is not None:
            raise MillstreamError(
                "MS-POSTGRES-010",
                f'the replication slot "{self.name}" for table "{self.table.name}" is there already.',
                hint="it may be of another table or job, or of this job in a folder that was moved; if it was deleted, "
                f"drop the slot: SELECT pg_drop_replication_slot('{self.name}');",
            )

    def _allowed(self, connection: Any, sql: str) -> None:
        module = psycopg_module()
        try:
            connection.execute(sql)
            connection.commit()
        except module.Error as error:
            if (error.sqlstate or "08")[:2] in UNCONNECTED:
                raise
            connection.rollback()
            raise MillstreamError(
                "MS-POSTGRES-006",
                f'changes of table "{self.table.name}" cannot be had: {str(error).strip().splitlines()[0]}.',
                hint=f"have somebody who may do so run: {self._remedy(connection, error, sql)};",
            ) from error

    def _remedy(self, connection: Any, error: Any, sql: str) -> str:
        """What helps: not always the SQL that failed."""
        module = psycopg_module()
        if "replication_slot" not in sql:
            return sql
        match error:
            case module.errors.InsufficientPrivilege():
                return f"ALTER ROLE {quoted(connection.info.user)} REPLICATION"
            case module.errors.ObjectNotInPrerequisiteState():
                return "ALTER SYSTEM SET wal_level = logical; and restart the server"
            case _:
                return "ALTER SYSTEM SET max_replication_slots = …; and restart the server, or drop slots nobody needs"

    def check(self, connection: Any, acknowledged: int) -> None:
        """An error if it no longer has all changes, or the publication no longer has the table."""
        found = self._found(connection)
        holds = connection.execute(HOLDS, [self.publication, *split(self.table.name)]).fetchone()
        connection.commit()
        if found is None or found.lost:
            raise self._gone()
        if found.place > acknowledged:
            raise MillstreamError(
                "MS-POSTGRES-007",
                f'somebody else has moved the replication slot "{self.name}" of table "{self.table.name}" on, and '
                "changes are missing.",
                found=f"the slot: {lsn(found.place)}; the job: {lsn(acknowledged)}",
                hint="start over with another checkpoint folder: one that was copied, or brought back from a copy, "
                "cannot go on",
            )
        if holds is None:
            raise MillstreamError(
                "MS-POSTGRES-009",
                f'table "{self.table.name}" was dropped, or is no longer in publication "{self.publication}".',
                hint="start over with another checkpoint folder: changes since then may be missing",
            )

    def place(self, connection: Any) -> int:
        """How far in the log it is; an error if it is gone."""
        found = self._found(connection)
        if found is None:
            raise self._gone()
        return found.place

    def _gone(self) -> MillstreamError:
        return MillstreamError(
            "MS-POSTGRES-007",
            f'the replication slot "{self.name}" of table "{self.table.name}" is gone, and changes with it.',
            hint="start over with another checkpoint folder",
        )

    def _found(self, connection: Any) -> Found | None:
        state = "SELECT wal_status, confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots WHERE slot_name = %s"
        row = connection.execute(state, [self.name]).fetchone()
        connection.commit()
        return Found(lost=row[0] == "lost", place=int(row[1] or 0)) if row else None

    def drop(self, connection: Any) -> None:
        connection.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", [self.name]
        )
        connection.commit()

    def durable(self, connection: Any) -> int:
        """How far the log can be read now."""
        place = position(connection, "flush")
        connection.commit()
        return place

    def peek(self, connection: Any, upto: int) -> Generator[bytes]:
        """Messages from the slot's position; read on demand, so that they need not fit into memory."""
        query = "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, %s, 'proto_version', '1', "
        query += "'publication_names', %s)"
        with connection.transaction(), connection.cursor("millstream_changes") as rows:
            rows.execute(query, [self.name, lsn(upto), AT_ONCE, quoted(self.publication)])
            for row in rows:
                yield row[0]

    def advance(self, connection: Any, end: int) -> None:
        connection.execute("SELECT pg_replication_slot_advance(%s, %s::pg_lsn)", [self.name, lsn(end)])
        connection.commit()


@dataclass(frozen=True)
class Found:
    """A slot as the server has it. `lost`: the log that it needs was removed."""

    lost: bool
    place: int


def written(connection: Any) -> int:
    """A place in the log behind all that can be seen now."""
    return position(connection, "insert")


def position(connection: Any, which: str) -> int:
    """A standby server writes no log itself."""
    here = f"CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_{which}_lsn() END"
    (found,) = connection.execute(f"SELECT {here} - '0/0'::pg_lsn").fetchone()
    return int(found)


def lsn(place: int) -> str:
    return f"{place >> 32:X}/{place & 0xFFFFFFFF:X}"
