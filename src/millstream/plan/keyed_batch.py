"""What a process that sees many keys at once is handed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class KeyedBatch:
    """Rows of many keys, as Arrow columns."""

    keys: pa.RecordBatch
    """One row for each key."""
    rows: pa.RecordBatch
    """All their rows: those of the first key first."""
    of: pa.Array
    """For each row, which key it belongs to."""
