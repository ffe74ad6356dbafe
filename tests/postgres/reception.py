"""A table as it is received, without a job: into a journal, and what that holds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from millstream import journal, postgres
from millstream.connectors.postgres import PostgresChanges
from millstream.connectors.postgres.receiver import PostgresReceiver
from millstream.storage import CheckpointFolder
from tests.postgres.conftest import Sql


def receiver(folder: Path, address: str, table: str = "people", job: str = "copy", **given: Any) -> PostgresReceiver:
    return received(postgres.changes(table, address=address, **given), folder, job)


def in_small_segments(folder: Path, address: str, size: int = 4096, **given: Any) -> PostgresReceiver:
    source = postgres.changes("people", address=address)
    return received(replace(source, limits=replace(source.limits, segment_bytes=size, **given)), folder)


def received(source: PostgresChanges, folder: Path, job: str = "copy") -> PostgresReceiver:
    return source.bound(job, CheckpointFolder.at(str(folder)).received).receiver()


def catch_up(made: PostgresReceiver) -> None:
    """As a run does that ends with what there is now."""
    made.prepare()
    made.catch_up()


def records(folder: Path, table: str = "people") -> list[tuple[Any, Any]]:
    found = journal.read(folder / "received", table)
    return [(json.loads(record.key or b"null"), record.json()) for record in found]


def table_of(folder: Path, table: str = "people") -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for key, row in records(folder, table):
        rows.pop(json.dumps(key), None)
        if row is not None:
            rows[json.dumps(key)] = row
    return rows


class Follower:
    """Reads the journal as a job does, by offsets: what was cut must have been read."""

    def __init__(self, folder: Path) -> None:
        self.next = 0
        self.rows: dict[int, Any] = {}
        """By id, the name."""
        self.deletions = 0
        self._folder = folder / "received"

    def follow(self) -> dict[int, Any]:
        for record in journal.read(self._folder, "people", start={0: self.next}):
            assert record.offset == self.next
            self.next += 1
            id = json.loads(record.key or b"")["id"]
            self.rows.pop(id, None)
            if record.value is not None:
                self.rows[id] = record.json()["name"]
            else:
                self.deletions += 1
        return self.rows


def in_table(sql: Sql) -> dict[int, Any]:
    return dict(sql.execute("SELECT id, name FROM people").fetchall())


def people(sql: Sql, identity: str = "DEFAULT") -> None:
    sql.execute("CREATE TABLE people (id INT PRIMARY KEY, name TEXT, story TEXT)")
    sql.execute(f"ALTER TABLE people REPLICA IDENTITY {identity}")
    sql.execute("INSERT INTO people SELECT n, 'name ' || n FROM generate_series(1, 3) n")
