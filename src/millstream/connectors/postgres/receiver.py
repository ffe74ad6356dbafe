"""Receives the changes of one table: appended to the journal durably, and only then acknowledged to the slot.

Every record says in a header where in the log of the database it was, so that what is received again after a crash is
skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from typing import Any

from millstream.connectors.postgres import drift, pgoutput, slot
from millstream.connectors.postgres.begun import Begun, Notes, Snapshot
from millstream.connectors.postgres.connect import connect, psycopg_module, split
from millstream.connectors.postgres.errors import unreachable
from millstream.connectors.postgres.pgoutput import Begin, Changed, Commit, Relation, Truncated, Unchanged
from millstream.connectors.postgres.slot import Slot
from millstream.connectors.postgres.table import Table, quoted
from millstream.journal.producer import Producer, producer
from millstream.journal.reader import read
from millstream.journal.record import Record
from millstream.journal.topics import create, describe, drop, exists

EVERY = 0.1
"""Seconds between two looks for changes."""
CHECKED_EVERY = 10
"""The publication and the slot are checked once in this many looks."""
SLACK = 1 << 20
"""Bytes of log without changes of the table that the slot may keep."""
PLACE = "lsn"


class PostgresReceiver:
    def __init__(self, table: Table, address: str, folder: str, publication: str, slot_name: str) -> None:
        self._table = table
        self._address = address
        self._folder = folder
        self._slot = Slot(table, publication, slot_name)
        self._relation: Relation | None = None
        self._notes = Notes(folder, table)
        self._snapshot = Snapshot("0:0:", 0)
        self._known = False
        """Whether the snapshot holds the transaction that is being read."""
        self._at = 0
        """When the transaction that is being read was committed."""
        self._place = (0, 0)
        """Where in the log: of the commit, and the number of the change."""
        self._done = (0, -1)
        """Of the last change that the journal holds."""
        self._moved = 0
        """How far the slot has advanced."""
        if not exists(folder, table.name):
            create(folder, table.name, 1)

    # --- the life of a reception

    def copy(self) -> None:
        """The snapshot alone, without a slot, unless there is one that brings it up to now."""
        begun = self._notes.begun()
        if begun is not None and begun.snapshot is not None:
            self.prepare()
            return
        with self._connected() as connection:
            self._empty()
            self._copy(connection)

    def prepare(self) -> None:
        """The snapshot, if there is none yet, and all changes up to now: before the job reads the journal."""
        with self._connected() as connection:
            begun = self._notes.begun()
            if begun is None or begun.snapshot is None:
                self._begin(connection, begun)
            else:
                self._slot = replace(self._slot, name=begun.slot)
                drift.check_begun(self._table, begun.table, begun.key)
                self._snapshot = begun.snapshot
            self._done = self._last()
            self._moved = self._slot.check(connection, self._notes.acknowledged)
            with producer(self._folder, self._table.name) as out:
                self._drain(connection, out, Event())

    def receive(self, ended: Event) -> None:
        with self._connected() as connection, producer(self._folder, self._table.name) as out:
            looks = 0
            while not ended.wait(EVERY):
                self._drain(connection, out, ended)
                looks += 1
                if looks % CHECKED_EVERY == 0:
                    self._slot.check(connection, self._notes.acknowledged)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        module = psycopg_module()
        connection = connect(self._address)
        try:
            # The text of a value must not depend on the reader's settings.
            connection.execute(
                "SET datestyle = ISO; SET timezone = 'UTC'; SET bytea_output = hex; SET intervalstyle = iso_8601"
            )
            connection.commit()
            yield connection
        except module.OperationalError as error:
            raise unreachable(error) from error
        finally:
            connection.close()

    # --- the snapshot

    def _begin(self, connection: Any, before: Begun | None) -> None:
        """From the start, also after a crash within a snapshot: what it left has not been read."""
        if before is not None:
            replace(self._slot, name=before.slot).drop(connection)
        self._slot.require_free(connection)
        self._empty()
        self._notes.begin(self._slot.name)
        self._notes.acknowledge(self._slot.create(connection))
        self._snapshot = self._copy(connection)
        self._notes.begin(self._slot.name, self._snapshot)

    def _empty(self) -> None:
        drop(self._folder, self._table.name)
        create(self._folder, self._table.name, 1)

    def _copy(self, connection: Any) -> Snapshot:
        names = [column.name for column in self._table.columns]
        columns = ", ".join(f"{quoted(name)}::text" for name in names)
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            text, at = connection.execute("SELECT pg_current_snapshot()::text, now()").fetchone()
            end = slot.written(connection)
            with connection.cursor("millstream_snapshot") as rows, producer(self._folder, self._table.name) as out:
                rows.execute(f"SELECT {columns} FROM {self._table.qualified}")
                for number, values in enumerate(rows):
                    row = self._table.row(names, values)
                    place = [(PLACE, f"0:{number}")]
                    out.send(json.dumps(row), key=self._table.key_of(row), headers=place, timestamp=at)
        return Snapshot(str(text), end)

    # --- changes

    def _drain(self, connection: Any, out: Producer, ended: Event) -> None:
        """All that there is now, and nothing that comes meanwhile: that might have no end."""
        target = self._slot.durable(connection)
        if target <= self._moved:
            return
        more = True
        while more and not ended.is_set():
            count, end = self._look(connection, out, target)
            more = count >= slot.AT_ONCE
            if not more and (count > 0 or target > self._moved + SLACK):
                end = max(end, target)
            if end > 0:
                self._acknowledge(connection, out, end)

    def _look(self, connection: Any, out: Producer, target: int) -> tuple[int, int]:
        """Changes are appended as they come: a transaction need not fit into memory."""
        count = end = 0
        for data in self._slot.peek(connection, target):
            count += 1
            message = pgoutput.read(data)
            if isinstance(message, Commit):
                end = message.end
            elif message is not None:
                self._take(connection, message, out)
        return count, end

    def _acknowledge(self, connection: Any, out: Producer, end: int) -> None:
        """When the journal has all changes up to there durably, and no other client has taken some of them."""
        out.flush()
        self._slot.check(connection, self._notes.acknowledged)
        self._notes.acknowledge(end)
        self._slot.advance(connection, end)
        self._moved = end

    def _take(self, connection: Any, message: pgoutput.Message, out: Producer) -> None:
        match message:
            case Begin():
                self._place = (message.place, 0)
                self._at = message.at
                self._known = self._snapshot.holds(message.xid, message.place)
            case Relation():
                if (message.schema, message.name) == split(self._table.name):
                    drift.check(connection, self._table, message)
                    self._relation = message
            case Changed() | Truncated():
                for key, row in self._changes(connection, message, out):
                    self._append(key, row, out)

    def _append(self, key: bytes, row: dict[str, Any] | None, out: Producer) -> None:
        """Unless the snapshot holds it, or it was received before."""
        if not self._known and self._place > self._done:
            place = ":".join(map(str, self._place))
            value = None if row is None else json.dumps(row)
            out.send(value, key=key, headers=[(PLACE, place)], timestamp=self._at)
            self._done = self._place
        self._place = (self._place[0], self._place[1] + 1)

    def _changes(
        self, connection: Any, message: Changed | Truncated, out: Producer
    ) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
        """Records for a change: by key, without a row where it is gone."""
        relation = self._relation
        changed = message.relations if isinstance(message, Truncated) else (message.relation,)
        if relation is None or relation.id not in changed:
            # Of another table in the same publication.
            return
        if isinstance(message, Truncated):
            out.flush()
            yield from ((key, None) for key in self._live(self._place))
            return
        before_key = self._key(relation, message.before) if message.before is not None else None
        if message.after is None:
            assert before_key is not None
            yield before_key, None
            return
        row = self._whole(connection, relation, message)
        key = self._table.key_of(row)
        if before_key is not None and before_key != key:
            yield before_key, None
        yield key, row

    def _key(self, relation: Relation, values: pgoutput.Tuple) -> bytes:
        texts = [None if isinstance(value, Unchanged) else value for value in values]
        return self._table.key_of(self._table.row(relation.columns, texts))

    def _whole(self, connection: Any, relation: Relation, message: Changed) -> dict[str, Any]:
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
            row |= self._ask(connection, [named[name] for name in self._table.key], asked)
        return row

    def _ask(self, connection: Any, key: list[str | None], names: list[str]) -> dict[str, Any]:
        columns = ", ".join(f"{quoted(name)}::text" for name in names)
        types = {column.name: column.full for column in self._table.columns}
        same = " AND ".join(f"{quoted(name)} = %s::{types[name]}" for name in self._table.key)
        with connection.transaction():
            found = connection.execute(f"SELECT {columns} FROM {self._table.qualified} WHERE {same}", key).fetchone()
        # A row that is gone by now is deleted further on in the log.
        return self._table.row(names, found) if found else dict.fromkeys(names)

    def _live(self, place: tuple[int, int]) -> Iterable[bytes]:
        """The keys that had a row before that place in the log: the same ones if it is read again after a crash."""
        live: dict[bytes, None] = {}
        for record in read(self._folder, self._table.name):
            assert record.key is not None
            if place_of(record) >= place:
                break
            if record.value is None:
                live.pop(record.key, None)
            else:
                live[record.key] = None
        return live

    def _last(self) -> tuple[int, int]:
        """Where in the log the last record was that the journal holds."""
        end = describe(self._folder, self._table.name).partitions[0].end
        place = (0, -1)
        for record in read(self._folder, self._table.name, start={0: max(0, end - 1)}):
            place = place_of(record)
        return place


def place_of(record: Record) -> tuple[int, int]:
    text = dict(record.headers)[PLACE]
    assert text is not None
    lsn, number = text.decode().split(":")
    return int(lsn), int(number)
