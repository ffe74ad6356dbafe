"""A record of the journal."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

Headers = tuple[tuple[str, bytes | None], ...]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Record(NamedTuple):
    """What a reader gets. A tuple rather than a dataclass: readers make hundreds of thousands a second."""

    partition: int
    offset: int | None
    """None if the record is not committed yet."""
    timestamp: int
    """Milliseconds since 1970."""
    key: bytes | None
    value: bytes | None
    """None: a tombstone."""
    headers: Headers = ()
    committed: bool = True

    @property
    def time(self) -> datetime:
        """The timestamp as a datetime, in UTC."""
        return _EPOCH + timedelta(milliseconds=self.timestamp)

    def json(self) -> Any:
        """The value, decoded from JSON; None for a tombstone."""
        return None if self.value is None else json.loads(self.value)
