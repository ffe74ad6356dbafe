"""What is in a folder."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    name: str
    size: int | None
    """None: the storage was not asked. A file may grow."""
