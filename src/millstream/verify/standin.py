"""What lies in a folder, in place of something that a job must not touch: a database, each epoch one transaction; and a
queue, which keeps no number of an epoch. SQLite is in both."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from millstream.connectors.message_sink import token
from millstream.plan.connectors import Carried, Carrier, Format, RowShape, WriteMode
from millstream.testing.changelog import Rows

MESSAGES = "CREATE TABLE IF NOT EXISTS messages (id TEXT, key BLOB, value BLOB)"
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


# --- a queue


@dataclass(frozen=True)
class QueueStandIn(StandIn):
    """What stands in for a sink of messages: an epoch may come twice, and each message has its id."""

    system = "queue"
    guarantee = "at least once (message id tells duplicates)"

    def carrier(self, writer: str, mode: WriteMode, shape: RowShape) -> Carrier:
        return QueueStandInCarrier(self.path, writer)


class QueueStandInCarrier:
    def __init__(self, path: str, writer: str) -> None:
        # Each message for itself, as brokers take them.
        self._queue = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._queue.execute("PRAGMA synchronous = OFF")
        self._queue.execute(MESSAGES)
        self._writer = writer

    def last(self) -> None:
        """A queue keeps no number of an epoch."""
        return

    def carry(self, epoch: int, records: Iterable[Carried]) -> None:
        for number, record in enumerate(records):
            row = (token(self._writer, epoch, number), record.key, record.value)
            self._queue.execute("INSERT INTO messages VALUES (?, ?, ?)", row)

    def close(self) -> None:
        self._queue.close()


def messages(path: Path) -> list[tuple[bytes | None, bytes | None]]:
    """Keys and values, as a reader has them who drops those that he knows by their ids. If two of one id are not the
    same, he has both: they are no duplicates."""
    if not path.exists():
        return []
    queue = sqlite3.connect(path)
    try:
        queue.execute(MESSAGES)
        return queue.execute("SELECT key, value FROM messages GROUP BY id, key, value ORDER BY min(rowid)").fetchall()
    finally:
        queue.close()
