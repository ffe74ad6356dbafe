"""Postgres' own format of logical replication, read: which rows a transaction changed.

Only what a table's copy needs: messages of other kinds are skipped.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass


class Unchanged:
    """Stands for a large value that an update did not touch: Postgres does not send it."""


Value = str | None | Unchanged
Tuple = tuple[Value, ...]
UNCHANGED = Unchanged()
EPOCH_MS = 946_684_800_000
"""Postgres counts time from 2000 on."""


@dataclass(frozen=True)
class Begin:
    """`place`: of the commit to come, in the log. `at`: its time, in milliseconds since 1970."""

    place: int
    at: int
    xid: int


@dataclass(frozen=True)
class Commit:
    end: int
    """The position in the log after the transaction."""


@dataclass(frozen=True)
class Relation:
    id: int
    schema: str
    name: str
    identity: str
    """What identifies changed rows, as Postgres' letter."""
    key: tuple[str, ...]
    """The columns that do so."""
    columns: tuple[str, ...]
    types: tuple[tuple[int, int], ...]
    """Of each column: the number of its type, and what modifies it."""


@dataclass(frozen=True)
class Changed:
    """A row before and after; `before` holds its key alone unless the table sends whole rows."""

    relation: int
    before: Tuple | None
    after: Tuple | None


@dataclass(frozen=True)
class Truncated:
    relations: tuple[int, ...]


Message = Begin | Commit | Relation | Changed | Truncated


class Cursor:
    """Reads a message from its start to its end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, format_: str) -> int:
        (value,) = struct.unpack_from(f">{format_}", self.data, self.at)
        self.at += struct.calcsize(f">{format_}")
        found: int = value
        return found

    def letter(self) -> str:
        self.at += 1
        return chr(self.data[self.at - 1])

    def text(self) -> str:
        end = self.data.index(0, self.at)
        found = self.data[self.at : end].decode()
        self.at = end + 1
        return found

    def tuple(self) -> Tuple:
        return tuple(self.value() for _ in range(self.take("H")))

    def value(self) -> Value:
        match self.letter():
            case "n":
                return None
            case "u":
                return UNCHANGED
            case _:
                length = self.take("i")
                self.at += length
                return self.data[self.at - length : self.at].decode()


def read(data: bytes) -> Message | None:
    cursor = Cursor(data)
    match cursor.letter():
        case "B":
            return Begin(cursor.take("Q"), cursor.take("q") // 1000 + EPOCH_MS, cursor.take("I"))
        case "C":
            cursor.at += 9
            return Commit(cursor.take("Q"))
        case "R":
            return relation(cursor)
        case "I":
            return changed(cursor)
        case "U":
            return changed(cursor)
        case "D":
            return changed(cursor)
        case "T":
            count = cursor.take("I")
            cursor.at += 1
            return Truncated(tuple(cursor.take("I") for _ in range(count)))
        case _:
            return None


def relation(cursor: Cursor) -> Relation:
    number, schema, name, identity = cursor.take("I"), cursor.text(), cursor.text(), cursor.letter()
    key, columns, types = [], [], []
    for _ in range(cursor.take("H")):
        in_key, column = cursor.take("B"), cursor.text()
        columns.append(column)
        types.append((cursor.take("I"), cursor.take("i")))
        key += [column] if in_key else []
    return Relation(number, schema, name, identity, tuple(key), tuple(columns), tuple(types))


def changed(cursor: Cursor) -> Changed:
    number = cursor.take("I")
    before = after = None
    while cursor.at < len(cursor.data):
        if cursor.letter() == "N":
            after = cursor.tuple()
        else:
            before = cursor.tuple()
    return Changed(number, before, after)
