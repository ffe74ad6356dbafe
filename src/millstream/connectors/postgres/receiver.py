"""Receives a table: a snapshot of it, and then its changes, by the front that all received sources share.

slot ─fetch─▶ changes ─▶ journal ─sync─▶ acknowledged: the slot advances
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from typing import Any

from millstream.connectors.postgres import drift, slot
from millstream.connectors.postgres.begun import FORMAT, Begun, Notes, Snapshot
from millstream.connectors.postgres.client import Changes
from millstream.connectors.postgres.connect import connect_to_read, guarded
from millstream.connectors.postgres.log import LOG, Place, place_from
from millstream.connectors.postgres.slot import Slot
from millstream.connectors.postgres.table import Table, quoted
from millstream.errors import MillstreamError
from millstream.journal.producer import producer
from millstream.journal.reader import read
from millstream.journal.topics import create, describe, drop
from millstream.reception import Front, Limits
from millstream.reception.keys import LiveKeys
from millstream.reception.memory import Memory, note
from millstream.storage import files_at
from millstream.storage.checkpoint import batch_copy

BEGINNING = "0:0"
"""A place before all changes: that of the snapshot."""


class PostgresReceiver(Front):
    def __init__(
        self, table: Table, address: str, folder: str, publication: str, slot_name: str, limits: Limits
    ) -> None:
        self._table = table
        self._address = address
        self._notes = Notes(folder, table)
        self._keys = LiveKeys(folder, table.name)
        own = Slot(table, publication, slot_name)
        self._changes = Changes(table, address, self._notes, self._keys, own, Snapshot("0:0:", 0))
        super().__init__(table.name, self._changes, folder, table.name, limits)

    def copy(self) -> None:
        """The table as it is, for a batch: apart from what a stream has received. It needs no slot."""
        folder = batch_copy(self._folder, self._topic)
        drop(folder, self._topic)
        create(folder, self._topic)
        with guarded(), closing(connect_to_read(self._address)) as connection:
            self._take_snapshot(connection, folder)

    def prepare(self) -> None:
        """The snapshot, if there is none yet: before the job reads the journal."""
        files_at(self._folder).delete_all(batch_copy(self._folder, self._topic))
        begun = self._notes.begun()
        if begun is None or begun.snapshot is None:
            begun = self._begin(begun)
        elif begun.format != FORMAT:
            begun = self._upgraded(begun)
        assert begun.snapshot is not None
        drift.check_begun(self._table, begun.table, begun.key)
        self._changes.slot = replace(self._changes.slot, name=begun.slot)
        self._changes.snapshot = begun.snapshot
        with guarded(), closing(connect_to_read(self._address)) as connection:
            self._changes.slot.check(connection, self._notes.acknowledged)
        super().prepare()

    # --- the snapshot

    def _begin(self, before: Begun | None) -> Begun:
        """From the start, also after a crash within a snapshot: what it left has not been read."""
        own = self._changes.slot
        with guarded(), closing(connect_to_read(self._address)) as connection:
            if before is not None:
                replace(own, name=before.slot).drop(connection)
            own.require_free(connection)
            self._empty()
            self._notes.begin(own.name)
            self._notes.acknowledge(own.create(connection))
            snapshot, rows = self._take_snapshot(connection, self._folder)
        self._remember(BEGINNING, rows)
        return self._notes.begin(own.name, snapshot)

    def _empty(self) -> None:
        drop(self._folder, self._topic)
        self._keys.forget()
        files_at(self._folder).delete(note(self._folder, self._topic))
        self._make_topic()

    def _remember(self, place: str, end: int) -> None:
        """What was received up to an offset of the journal."""
        Memory(self._limits.remember, {LOG: place}, {0: end}).save(self._folder, self._topic)

    def _take_snapshot(self, connection: Any, folder: str) -> tuple[Snapshot, int]:
        """Into the topic there; and how many rows it has."""
        names = [column.name for column in self._table.columns]
        columns = ", ".join(f"{quoted(name)}::text" for name in names)
        count = 0
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            text, at = connection.execute("SELECT pg_current_snapshot()::text, now()").fetchone()
            end = slot.written(connection)
            writing = producer(folder, self._topic, segment_bytes=self._limits.segment_bytes)
            with connection.cursor("millstream_snapshot") as rows, writing as out:
                rows.execute(f"SELECT {columns} FROM {self._table.qualified}")
                for values in rows:
                    row = self._table.row(names, values)
                    out.send(json.dumps(row), key=self._table.key_of(row), timestamp=at)
                    count += 1
        return Snapshot(str(text), end), count

    # --- what an earlier version has left

    def _upgraded(self, begun: Begun) -> Begun:
        """In format 1 each record says where in the log it was, and the deletions of a TRUNCATE are numbered."""
        end = describe(self._folder, self._topic).partitions[0].end
        commit, number = self._last_of_format_1(end)
        if commit >= self._notes.acknowledged:
            raise MillstreamError(
                "MS-CHECKPOINT-004",
                f'an earlier version of Millstream has received a part of a transaction on table "{self._table.name}".',
                hint="run the job with that version until it has caught up, and stop it",
            )
        self._remember(f"{commit}:{number}", end)
        return self._notes.begin(begun.slot, begun.snapshot)

    def _last_of_format_1(self, end: int) -> Place:
        for record in read(self._folder, self._topic, start={0: max(0, end - 1)}):
            text = dict(record.headers).get(LOG)
            return place_from((text or b"").decode())
        return place_from(BEGINNING)
