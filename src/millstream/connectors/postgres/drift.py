"""A table that is altered while a job reads it: which changes the job can handle, and which not."""

from __future__ import annotations

import logging
from typing import Any

from millstream.connectors.postgres.pgoutput import Relation
from millstream.connectors.postgres.table import Table, look_up
from millstream.errors import MillstreamError

LOG = logging.getLogger("millstream")


def check(connection: Any, known: Table, relation: Relation) -> None:
    """An error if the table is no longer what the job knows. New columns are left out, with a warning.

    `relation`: the table as the log describes it. That may be long ago, so the table is asked if it differs.
    """
    if same(known, relation):
        return
    check_begun(known, relation.id, known.key)
    now = look_up(connection, known.name)
    there = {column.name: column for column in now.columns}
    lost = [column.name for column in known.columns if column.name not in there]
    types = {column.name: column.type for column in known.columns}
    other = [name for name, type_ in types.items() if name in there and there[name].type != type_]
    check_begun(now, known.number, known.key)
    if lost or other:
        raise altered(known, now, lost, other)
    new = [name for name in there if name not in types]
    if new:
        LOG.warning('table "%s" has new columns, which are left out until the job starts again: %s', known.name, new)


def same(known: Table, relation: Relation) -> bool:
    columns = {column.name: column.number for column in known.columns}
    keyed = relation.id == known.number and (relation.identity == "f" or set(relation.key) == set(known.key))
    return keyed and dict(zip(relation.columns, relation.types, strict=True)) == columns


def check_begun(table: Table, number: int, key: tuple[str, ...]) -> None:
    """An error if it is not the table, or not the key, with which the job has begun."""
    if number != table.number:
        raise MillstreamError(
            "MS-POSTGRES-009",
            f'table "{table.name}" was dropped and created again since the job began.',
            hint="start over with another checkpoint folder",
        )
    if key != table.key:
        raise MillstreamError(
            "MS-POSTGRES-008",
            f'table "{table.name}" has another key, {", ".join(table.key)}, since the job began.',
            found=f"the job: {', '.join(key)}",
            hint="undo it, or start over with another checkpoint folder",
        )


def altered(known: Table, now: Table, lost: list[str], other: list[str]) -> MillstreamError:
    said = f"has lost {', '.join(lost)}" if lost else f"has other types of {', '.join(other)}"
    return MillstreamError(
        "MS-POSTGRES-008",
        f'table "{known.name}" {said} since the job began.',
        found=f"now: {now.schema}; the job: {known.schema}",
        hint="undo it; or start the job again, which then reads the table as it is now",
    )
