"""The log of the database, as changes of one table: each by its key, with the row as it is afterwards.

A change has a place: that of its commit in the log, and its number within the transaction. What comes again after a
crash is recognised by it. All deletions of a TRUNCATE have the same place: after a crash among them, those that are
missing are the keys that still have a row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from millstream.connectors.postgres import drift, pgoutput
from millstream.connectors.postgres.begun import Snapshot
from millstream.connectors.postgres.connect import split
from millstream.connectors.postgres.pgoutput import Begin, Changed, Relation, Truncated, Unchanged
from millstream.connectors.postgres.table import Table, quoted
from millstream.reception import Message

LOG = "lsn"
Row = dict[str, Any]
Place = tuple[int, int]


def place_from(text: str) -> Place:
    commit, number = text.split(":")
    return int(commit), int(number)


class TableLog:
    """Read from its beginning, or once more from there: `done` is the place of the last change that was received."""

    def __init__(self, connection: Any, table: Table, snapshot: Snapshot, live: Callable[[], Iterable[bytes]]) -> None:
        """`live`: the keys that have a row now, by what was received."""
        self.done: Place = (0, -1)
        self._connection = connection
        self._table = table
        self._snapshot = snapshot
        self._live = live
        self._relation: Relation | None = None
        self._held = False
        """Whether the snapshot holds the transaction that is being read."""
        self._at = 0
        """When the transaction that is being read was committed."""
        self._place: Place = (0, 0)

    def changes(self, message: pgoutput.Message) -> Iterator[Message | None]:
        """None: all that came before must be in the journal before this goes on."""
        match message:
            case Begin():
                self._place = (message.place, 0)
                self._at = message.at
                self._held = self._snapshot.holds(message.xid, message.place)
            case Relation():
                if (message.schema, message.name) == split(self._table.name):
                    drift.check(self._connection, self._table, message)
                    self._relation = message
            case Truncated() if self._relation is not None and self._relation.id in message.relations:
                yield from self._truncated()
            # Others are of another table in the same publication.
            case Changed() if self._relation is not None and self._relation.id == message.relation:
                for key, row in self._rows(self._relation, message):
                    yield from self._change(key, row)

    def _change(self, key: bytes, row: Row | None) -> Iterator[Message]:
        place = self._next_place()
        if self._held:
            return
        known = place <= self.done
        self.done = max(place, self.done)
        value = None if row is None or known else json.dumps(row).encode()
        yield self._message(place, key, value, known)

    def _truncated(self) -> Iterator[Message | None]:
        place = self._next_place()
        if self._held:
            return
        if place < self.done:
            yield self._message(place, None, None, known=True)
            return
        yield None
        self.done = place
        for key in self._live():
            yield self._message(place, key, None)

    def _next_place(self) -> Place:
        place = self._place
        self._place = (place[0], place[1] + 1)
        return place

    def _message(self, place: Place, key: bytes | None, value: bytes | None, known: bool = False) -> Message:
        said = (LOG, f"{place[0]}:{place[1]}")
        return Message(value, key=key, timestamp=self._at, place=said, redelivered=known, known=known)

    def _rows(self, relation: Relation, message: Changed) -> Iterator[tuple[bytes, Row | None]]:
        """By key, without a row where it is gone."""
        before_key = self._key(relation, message.before) if message.before is not None else None
        if message.after is None:
            assert before_key is not None
            yield before_key, None
            return
        row = self._whole(relation, message)
        key = self._table.key_of(row)
        if before_key is not None and before_key != key:
            yield before_key, None
        yield key, row

    def _key(self, relation: Relation, values: pgoutput.Tuple) -> bytes:
        texts = [None if isinstance(value, Unchanged) else value for value in values]
        return self._table.key_of(self._table.row(relation.columns, texts))

    def _whole(self, relation: Relation, message: Changed) -> Row:
        """The new row. Large values that were not sent again come from the old row, or from the table."""
        assert message.after is not None
        values = list(message.after)
        missing = [i for i, value in enumerate(values) if isinstance(value, Unchanged)]
        for i in missing:
            old = message.before[i] if message.before is not None else None
            values[i] = old if isinstance(old, str) else None
        texts = [None if isinstance(value, Unchanged) else value for value in values]
        row = self._table.row(relation.columns, texts)
        asked = [relation.columns[i] for i in missing if texts[i] is None]
        if asked:
            named = dict(zip(relation.columns, texts, strict=True))
            row |= self._ask([named[name] for name in self._table.key], asked)
        return row

    def _ask(self, key: list[str | None], names: list[str]) -> Row:
        columns = ", ".join(f"{quoted(name)}::text" for name in names)
        types = {column.name: column.full for column in self._table.columns}
        same = " AND ".join(f"{quoted(name)} = %s::{types[name]}" for name in self._table.key)
        query = f"SELECT {columns} FROM {self._table.qualified} WHERE {same}"
        with self._connection.transaction():
            found = self._connection.execute(query, key).fetchone()
        # A row that is gone by now is deleted further on in the log.
        return self._table.row(names, found) if found else dict.fromkeys(names)
