"""A database that is in a folder, in place of one that a job must not touch: SQLite, each epoch one transaction."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from millstream.plan.connectors import Carried, Carrier, Format, RowShape, WriteMode
from millstream.testing.changelog import Rows

TABLES = """
CREATE TABLE IF NOT EXISTS rows (key BLOB, value BLOB);
CREATE TABLE IF NOT EXISTS epochs (one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER);
"""


@dataclass(frozen=True)
class StandIn:
    """What stands in for a sink that rows are carried to."""

    path: str
    label: str
    modes: tuple[WriteMode, ...]
    key: tuple[str, ...]

    system = "sqlite"
    guarantee = "exactly once (token in the same transaction)"
    partition_by: tuple[str, ...] = ()
    format: Format = "json"

    def check(self) -> None:
        Path(self.path).parent.mkdir(parents=True, exist_ok=True)

    def writer(self) -> dict[str, str]:
        return {}

    def carrier(self, writer: str, mode: WriteMode, shape: RowShape) -> Carrier:
        return StandInCarrier(self.path, mode)


class StandInCarrier:
    def __init__(self, path: str, mode: WriteMode) -> None:
        # Opened in one thread and used in another, never by both at once.
        self._database = sqlite3.connect(path, check_same_thread=False)
        self._database.executescript(TABLES)
        self._upserts = mode == "upsert"

    def last(self) -> int:
        row = self._database.execute("SELECT epoch FROM epochs").fetchone()
        return int(row[0]) if row else -1

    def carry(self, epoch: int, records: Iterable[Carried]) -> None:
        with self._database as transaction:
            for record in records:
                if self._upserts:
                    transaction.execute("DELETE FROM rows WHERE key IS ?", [record.key])
                if record.value is not None:
                    transaction.execute("INSERT INTO rows VALUES (?, ?)", [record.key, record.value])
            transaction.execute("REPLACE INTO epochs VALUES (1, ?)", [epoch])

    def close(self) -> None:
        self._database.close()


def rows(path: Path) -> Rows:
    if not path.exists():
        return Counter()
    database = sqlite3.connect(path)
    try:
        database.executescript(TABLES)
        return Counter(value.decode() for (value,) in database.execute("SELECT value FROM rows"))
    finally:
        database.close()
