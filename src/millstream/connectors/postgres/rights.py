"""What a role must be allowed to do to write to a table: checked, or the SQL for an administrator to run."""

from __future__ import annotations

from typing import Any

from millstream.connectors.postgres.connect import psycopg_module
from millstream.connectors.postgres.table import quoted
from millstream.errors import MillstreamError

EPOCHS = "millstream_epochs"
COLUMNS = "(sink TEXT PRIMARY KEY, epoch BIGINT NOT NULL)"


def obtain(connection: Any, table: str, wanted: tuple[str, ...]) -> None:
    """Creates the table of epochs, if it is not there; an error if the role may not, or lacks other rights."""
    role = quoted(connection.execute("SELECT current_user").fetchone()[0])
    epochs, lacking = made(connection)
    for name, rights in ((table, wanted), (epochs, ("SELECT", "INSERT", "UPDATE"))):
        missing = [right for right in rights if not may(connection, name, right)]
        lacking += [f"GRANT {', '.join(missing)} ON {name} TO {role}"] if missing else []
    # Rows come by a temporary table.
    query = "SELECT current_database(), has_database_privilege(current_database(), 'TEMPORARY')"
    database, allowed = connection.execute(query).fetchone()
    lacking += [] if allowed else [f"GRANT TEMPORARY ON DATABASE {quoted(database)} TO {role}"]
    if lacking:
        raise MillstreamError(
            "MS-POSTGRES-011",
            f"role {role} may not do all that it takes to write to table {table}.",
            hint=f"have somebody who may do so run: {'; '.join(lacking)};",
        )


def made(connection: Any) -> tuple[str, list[str]]:
    """The table of epochs, and the SQL that makes it where the role may not.

    It is looked for first: CREATE … IF NOT EXISTS needs the right to create it even if it exists.
    """
    errors = psycopg_module().errors
    if connection.execute("SELECT to_regclass(%s)", [EPOCHS]).fetchone() == (None,):
        try:
            with connection.transaction():
                connection.execute(f"CREATE TABLE IF NOT EXISTS {EPOCHS} {COLUMNS}")
        except (errors.InsufficientPrivilege, errors.InvalidSchemaName):
            (schema,) = connection.execute("SELECT coalesce(current_schema(), 'public')").fetchone()
            name = f"{quoted(schema)}.{EPOCHS}"
            return name, [f"CREATE TABLE {name} {COLUMNS}"]
    return EPOCHS, []


def may(connection: Any, table: str, right: str) -> bool:
    """A right to some columns may be enough; the server says which ones."""
    by = "has_table_privilege" if right == "DELETE" else "has_any_column_privilege"
    (found,) = connection.execute(f"SELECT {by}(to_regclass(%s), %s)", [table, right]).fetchone()
    return bool(found)
