"""What an operator's input needs of each row: a key, a payload, and which rows to leave out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql.types import DataType

Place = Callable[[str], str]
"""Where a field stands: SQL for its value."""


@dataclass(frozen=True)
class Shape:
    """SQL over the fields of the rows that come in, and the types it must have."""

    keys: tuple[str, ...]
    key_types: tuple[DataType, ...]
    payload: tuple[tuple[str, str], ...]
    payload_types: tuple[DataType, ...]
    condition: str | None = None


@dataclass(frozen=True)
class Unpacked:
    """How an operator's output struct is read: SQL for each field of the node, and a condition to meet."""

    fields: tuple[tuple[str, str], ...]
    condition: str | None = None
