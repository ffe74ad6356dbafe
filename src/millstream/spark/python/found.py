"""What became of the rows that a user's function was called for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from millstream.spark.python.rows import encode

Letter = tuple[str | None, ...]
"""How a row failed; see ERROR."""


@dataclass(frozen=True)
class Found:
    """Results: their columns, and of which row each is, if not one of each row in order."""

    count: int
    columns: list[pa.Array]
    of: list[int] | pa.Array | None = None
    letters: dict[int, Letter] = field(default_factory=dict)
    """By a result's number: those of rows that failed."""

    def beside(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Columns of the rows, as they stand beside the results."""
        if self.of is None:
            return list(columns)
        taken = self.of if isinstance(self.of, pa.Array) else pa.array(self.of, pa.int32())
        return [column.take(taken) for column in columns]

    def errors(self, type_: pa.DataType) -> pa.Array:
        if not self.letters:
            return pa.nulls(self.count, type_)
        return encode([self.letters.get(i) for i in range(self.count)], type_)

    def in_lists(self, lengths: list[int]) -> tuple[list[int], list[range]]:
        """Where rows came in lists: each result's place in its list, and which results are of which list."""
        starts = [0]
        for length in lengths:
            starts.append(starts[-1] + length)
        places: list[int] = []
        lists: list[range] = []
        of = self.of.to_pylist() if isinstance(self.of, pa.Array) else self.of or range(self.count)
        at = 0
        for number, length in enumerate(lengths):
            begin = at
            while at < len(of) and of[at] < starts[number] + length:
                places.append(of[at] - starts[number])
                at += 1
            lists.append(range(begin, at))
        return places, lists
