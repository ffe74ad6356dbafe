"""Events in a file that every engine reads in the same cheap way: blocks of 1,000 events, column by column.

    events.dat   blocks, one after the other
    events.idx   where each block begins, and where the last one ends: 64-bit numbers
    block        where each column begins, counted from the block's start: 32-bit numbers; then the columns
    column       64-bit numbers (times in milliseconds), or for text: 32-bit offsets, one more than rows, then bytes

All numbers are little-endian. Within a block, rows of each kind are in the order of the events. The same events are
beside it as Parquet, for DuckDB, and the side table of q13 in its own folder.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.nexmark.events import AUCTIONS, BIDS, ROUND, Chunk, chunks

BLOCK = 1000
ROWS = {"persons": BLOCK // ROUND, "auctions": BLOCK // ROUND * AUCTIONS, "bids": BLOCK // ROUND * BIDS}
TIMES = ("date_time", "expires")
SIDE, SIDE_ROWS = "side", 10_000


def write(folder: Path, events: int, seed: int) -> None:
    """Makes the files; a multiple of 1,000 events."""
    assert events % BLOCK == 0
    folder.mkdir(parents=True, exist_ok=True)
    starts, end = [0], 0
    with (folder / "events.dat").open("wb") as data:
        for number, chunk in enumerate(chunks(events, seed)):
            parts = by_kind(chunk)
            for first in range(parts["persons"].num_rows // ROWS["persons"]):
                end += data.write(block(parts, first))
                starts.append(end)
            for kind, rows in parts.items():
                pq.write_table(timed(rows), folder / f"{kind}-{number:04d}.parquet")
    (folder / "events.idx").write_bytes(np.array(starts, dtype="<i8").tobytes())
    write_side(folder / SIDE)


def write_side(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    keys = range(SIDE_ROWS)
    rows = {"key": list(keys), "side": [f"value-{key}" for key in keys]}
    pq.write_table(pa.table(rows), folder / "0.parquet")


def by_kind(chunk: Chunk) -> dict[str, pa.Table]:
    parts = {"persons": chunk.persons, "auctions": chunk.auctions, "bids": chunk.bids}
    return {kind: rows.combine_chunks() for kind, rows in parts.items()}


def timed(rows: pa.Table) -> pa.Table:
    """Times as such."""
    for name in TIMES:
        if name in rows.column_names:
            place = rows.column_names.index(name)
            rows = rows.set_column(place, name, rows.column(name).cast(pa.timestamp("ms")))
    return rows


def block(parts: dict[str, pa.Table], number: int) -> bytes:
    columns = [
        column_bytes(rows.column(name).chunk(0).slice(number * ROWS[kind], ROWS[kind]))
        for kind, rows in parts.items()
        for name in rows.column_names
    ]
    lengths = np.array([len(column) for column in columns])
    starts = 4 * len(columns) + np.concatenate(([0], np.cumsum(lengths)[:-1]))
    return b"".join((starts.astype("<i4").tobytes(), *columns))


def column_bytes(values: pa.Array) -> bytes:
    if not pa.types.is_string(values.type):
        return bytes(values.to_numpy().astype("<i8"))
    _, offsets, data = values.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[values.offset : values.offset + len(values) + 1]
    return bytes((places - places[0]).astype("<i4")) + bytes(data[places[0] : places[-1]])
