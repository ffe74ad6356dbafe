"""The rows that all ways read: Parquet files, each of which is an epoch's worth."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

FILES = 4
KEYS = 100_000
SCHEMA = "id BIGINT, k BIGINT, v DOUBLE, text STRING"


def generate(folder: Path, rows: int) -> str:
    """A folder with `rows` rows: most of the keys are drawn from all, some from a hundred."""
    folder.mkdir(parents=True)
    chance = random.Random(2)
    for number, start in enumerate(range(0, rows, -(-rows // FILES))):
        ids = range(start, min(rows, start + -(-rows // FILES)))
        keys = [chance.randrange(KEYS) if chance.random() < 0.7 else chance.randrange(100) for _ in ids]
        table = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "k": pa.array(keys, pa.int64()),
                "v": pa.array([chance.random() for _ in ids], pa.float64()),
                "text": pa.array([f"some text of an ordinary length {id_ % 1000}" for id_ in ids]),
            }
        )
        pq.write_table(table, folder / f"rows-{number}.parquet")
    return str(folder)
