"""Brings epochs to a table of Postgres."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millstream.connectors.postgres import rights
from millstream.connectors.postgres.connect import connect, psycopg_module, split
from millstream.connectors.postgres.errors import unreachable
from millstream.connectors.postgres.table import quoted
from millstream.errors import MillstreamError
from millstream.plan.connectors import Carried, RowShape

COPIED = "CREATE TEMPORARY TABLE IF NOT EXISTS millstream_rows (row JSON) ON COMMIT DELETE ROWS"
TOKEN = """INSERT INTO millstream_epochs AS e (sink, epoch) VALUES (%s, %s)
ON CONFLICT (sink) DO UPDATE SET epoch = excluded.epoch WHERE e.epoch < excluded.epoch"""
NOT_NULL = (
    "leave such rows out by where(), or let the column be NULL; for a key that takes a UNIQUE index in place of a "
    "primary key"
)


class PostgresCarrier:
    """Writes epochs to a table: by COPY into a temporary table of JSON, and from there by one statement."""

    def __init__(self, table: str, address: str, writer: str, shape: RowShape, *, upserts: bool) -> None:
        self._table = table
        self._writer = writer
        self._upserts = upserts
        key = shape.key if upserts else ()
        self._module = psycopg_module()
        self._connection = connect(address)
        self._statements = Statements(table, shape.columns, key)
        with self._guarded(), self._connection.transaction():
            self._nullable = check_table(self._connection, table, shape.columns, key)
            rights.obtain(self._connection, self._statements.table, self._statements.rights(upserts=upserts))

    def _guarded(self) -> Guard:
        return Guard(self._module)

    def last(self) -> int:
        with self._guarded(), self._connection.transaction():
            found = self._connection.execute("SELECT epoch FROM millstream_epochs WHERE sink = %s", [self._writer])
            row = found.fetchone()
        return int(row[0]) if row else -1

    def carry(self, epoch: int, records: Iterable[Carried]) -> None:
        with self._guarded(), self._connection.transaction():
            self._connection.execute(COPIED)
            if self._upserts:
                last = {record.key: record.value for record in records}
                self._copy(key for key, value in last.items() if value is None)
                for nulls in self._nulls():
                    self._connection.execute(self._statements.delete(nulls))
                self._connection.execute("DELETE FROM millstream_rows")
                self._copy(value for value in last.values() if value is not None)
                # NULL conflicts with nothing: such rows are deleted first.
                for nulls in filter(None, self._nulls()):
                    self._connection.execute(self._statements.delete(nulls))
            else:
                self._copy(record.value for record in records)
            self._connection.execute(self._statements.insert)
            if self._connection.execute(TOKEN, [self._writer, epoch]).rowcount != 1:
                raise MillstreamError(
                    "MS-POSTGRES-004",
                    f'another run of the job has written epoch {epoch} to table "{self._table}".',
                    hint="run a job once at a time",
                )

    def _nulls(self) -> list[tuple[str, ...]]:
        """Which columns of the key are NULL in the rows that were copied: each combination that there is."""
        if not self._nullable:
            return [()]
        found = self._connection.execute(self._statements.nulls(self._nullable)).fetchall()
        return [tuple(name for name, null in zip(self._nullable, row, strict=True) if null) for row in found]

    def _copy(self, rows: Iterable[bytes | None]) -> None:
        with self._connection.cursor() as cursor, cursor.copy("COPY millstream_rows (row) FROM STDIN") as copy:
            for row in rows:
                copy.write_row([(row or b"").decode()])

    def close(self) -> None:
        self._connection.close()


class Guard:
    """Turns a lost connection, and a refused row, into an error of ours."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, self._module.OperationalError):
            raise unreachable(error) from error
        if isinstance(error, self._module.Error):
            raise MillstreamError(
                "MS-POSTGRES-005",
                "Postgres refuses the rows.",
                found=str(error).strip().splitlines()[0],
                hint=NOT_NULL if isinstance(error, self._module.errors.NotNullViolation) else None,
            ) from error


class Statements:
    """The SQL that brings copied rows into a table."""

    def __init__(self, table: str, columns: tuple[str, ...], key: tuple[str, ...]) -> None:
        self.table = ".".join(quoted(part) for part in split(table))
        self._columns = columns
        self._key = key

    @property
    def _rows(self) -> str:
        return f"millstream_rows, json_populate_record(NULL::{self.table}, row) AS r"

    @property
    def insert(self) -> str:
        names = ", ".join(quoted(name) for name in self._columns)
        values = ", ".join(f"r.{quoted(name)}" for name in self._columns)
        return f"INSERT INTO {self.table} ({names}) SELECT {values} FROM {self._rows} {self._conflict}"

    @property
    def _rest(self) -> list[str]:
        return [quoted(name) for name in self._columns if name not in self._key]

    @property
    def _conflict(self) -> str:
        if not self._key:
            return ""
        action = "UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in self._rest)
        key = ", ".join(quoted(name) for name in self._key)
        return f"ON CONFLICT ({key}) DO {action if self._rest else 'NOTHING'}"

    def delete(self, nulls: tuple[str, ...]) -> str:
        """Of rows with a key that is NULL in these columns alone; each by equality, for which there are indexes.

        A table of one row has no key: the row is deleted before the next one.
        """
        if not self._key:
            return f"DELETE FROM {self.table}"
        key = [(f"t.{quoted(name)}", f"r.{quoted(name)}", name in nulls) for name in self._key]
        same = " AND ".join(f"{t} IS NULL AND {r} IS NULL" if null else f"{t} = {r}" for t, r, null in key)
        return f"DELETE FROM {self.table} AS t USING {self._rows} WHERE {same}"

    def nulls(self, nullable: tuple[str, ...]) -> str:
        return f"SELECT DISTINCT {', '.join(f'r.{quoted(name)} IS NULL' for name in nullable)} FROM {self._rows}"

    def rights(self, *, upserts: bool) -> tuple[str, ...]:
        if not upserts:
            return ("INSERT",)
        if not self._key:
            return ("INSERT", "DELETE")
        return ("SELECT", "INSERT", *(("UPDATE",) if self._rest else ()), "DELETE")


COLUMNS = """SELECT attname, attnotnull FROM pg_attribute
WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"""
UNIQUE = """SELECT array_agg(a.attname::text) FROM pg_index i
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indpred IS NULL GROUP BY i.indexrelid"""


def check_table(connection: Any, table: str, columns: tuple[str, ...], key: tuple[str, ...]) -> tuple[str, ...]:
    """An error if it does not fit; the columns of the key that may be NULL."""
    name = ".".join(quoted(part) for part in split(table))
    found = dict(connection.execute(COLUMNS, [name]).fetchall())
    missing = [column for column in columns if column not in found]
    if missing:
        raise MillstreamError(
            "MS-POSTGRES-002",
            f'table "{table}" does not exist.' if not found else f'table "{table}" lacks {", ".join(missing)}.',
            found=f"columns: {', '.join(found)}" if found else None,
            hint="create it, or select() the columns that it has",
        )
    if key and not any(set(row[0]) == set(key) for row in connection.execute(UNIQUE, [name])):
        raise MillstreamError(
            "MS-POSTGRES-002",
            f'table "{table}" is written to by {", ".join(key)}, and has no unique index on that.',
            hint=f"ALTER TABLE {name} ADD PRIMARY KEY ({', '.join(quoted(part) for part in key)})",
        )
    return tuple(column for column in key if not found[column])
