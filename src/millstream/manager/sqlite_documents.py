"""Records in one SQLite file: for a manager that is alone."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

from millstream.manager.documents import Changed, Document

TABLE = "CREATE TABLE IF NOT EXISTS documents (name TEXT PRIMARY KEY, body TEXT NOT NULL, version INTEGER NOT NULL)"


class SqliteDocuments:
    """One connection, one statement at a time: they are short."""

    def __init__(self, file: Path) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(file, isolation_level=None, check_same_thread=False, timeout=10)
        file.chmod(0o600)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute(TABLE)

    def all(self) -> list[Document]:
        with self._lock:
            rows = self._db.execute("SELECT name, body, version FROM documents ORDER BY name").fetchall()
        return [Document(*row) for row in rows]

    def read(self, name: str) -> Document | None:
        with self._lock:
            row = self._db.execute("SELECT name, body, version FROM documents WHERE name = ?", (name,)).fetchone()
        return None if row is None else Document(*row)

    def create(self, name: str, body: str) -> None:
        try:
            self._write("INSERT INTO documents VALUES (?, ?, 1)", name, body)
        except sqlite3.IntegrityError:
            raise Changed(name) from None

    def replace(self, document: Document, body: str) -> None:
        self._write(
            "UPDATE documents SET body = ?, version = version + 1 WHERE name = ? AND version = ?",
            *(body, document.name, document.version),
        )

    def delete(self, document: Document) -> None:
        self._write("DELETE FROM documents WHERE name = ? AND version = ?", document.name, document.version)

    def _write(self, statement: str, *values: str | int) -> None:
        with self._lock:
            if self._db.execute(statement, values).rowcount != 1:
                raise Changed(str(values))

    def close(self) -> None:
        self._db.close()
