"""Writes changes to a topic, so that those of one row, or of one key, stay in their order."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from millstream.journal.producer import producer
from millstream.journal.topics import JournalPath
from millstream.testing.cases import Broken, Change, Edit, Fact, Upsert
from millstream.testing.changelog import text


def feed(path: JournalPath, topic: str, changes: Sequence[Change], partitions: int) -> None:
    with producer(path, topic, durable=False) as out:
        for change in changes:
            match change:
                case Fact(row):
                    out.send(row)
                case Edit(op, row):
                    place = crc32(text(change.place).encode()) % partitions
                    out.send({"op": op, **row}, partition=place)
                case Upsert(key, row):
                    out.send(row, key=key)
                case Broken(value):
                    out.send(value)
