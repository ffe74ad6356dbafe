"""Answers of a receiver on another machine: what a call gave, or the error that it raised."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

from millstream.errors import Location, MillstreamError
from millstream.reception.message import ConnectionLost, Message

Row = tuple[Any, ...]
"""A message without its handle: as tuples they are packed and unpacked in a third of the time."""


@dataclass(frozen=True)
class Fetched:
    """Messages, numbered from `first`: by its number each is acknowledged."""

    first: int
    rows: list[Row]

    def messages(self) -> list[Message]:
        return [
            Message(value, id, key, headers, parts, timestamp, redelivered, number, place, known)
            for number, (value, id, key, headers, parts, timestamp, redelivered, place, known) in enumerate(
                self.rows, self.first
            )
        ]


def row(message: Message) -> Row:
    about = (message.id, message.key, message.headers, message.parts, message.timestamp, message.redelivered)
    return (message.value, *about, message.place, message.known)


@dataclass(frozen=True)
class Greeting:
    """What the front is told of a client that was made. `tells`: which of the optional calls it has."""

    host: str
    quiet: float
    tells: tuple[str, ...]


@dataclass(frozen=True)
class Ours:
    """One of Millstream's errors. `lost`: the front may connect again."""

    lost: bool
    code: str
    message: str
    at: Location | None
    found: str | None
    hint: str | None

    def raised(self) -> MillstreamError:
        made = ConnectionLost if self.lost else MillstreamError
        return made(self.code, self.message, at=self.at, found=self.found, hint=self.hint)


@dataclass(frozen=True)
class Other:
    """Any other error: pickled, if it can be; and in words."""

    pickled: bytes | None
    text: str

    def raised(self) -> Exception:
        try:
            found = pickle.loads(self.pickled) if self.pickled else None
        except Exception:
            found = None
        return found if isinstance(found, Exception) else RuntimeError(self.text)


def of_error(error: Exception) -> Ours | Other:
    if isinstance(error, MillstreamError):
        lost = isinstance(error, ConnectionLost)
        return Ours(lost, error.code, error.message, error.at, error.found, error.hint)
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:
        return Other(None, f"{type(error).__name__}: {error}")
    return Other(pickled, f"{type(error).__name__}: {error}")
