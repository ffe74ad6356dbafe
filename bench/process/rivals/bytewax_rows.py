"""Bytewax: `python bytewax_rows.py keyed|map FOLDER …` says, for each folder, what its rows cost, as a line of JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import bytewax.operators as op  # type: ignore[import-not-found]
import pyarrow.parquet as pq
from bytewax.dataflow import Dataflow  # type: ignore[import-not-found]
from bytewax.inputs import DynamicSource, StatelessSourcePartition  # type: ignore[import-not-found]
from bytewax.outputs import DynamicSink, StatelessSinkPartition  # type: ignore[import-not-found]
from bytewax.testing import run_main  # type: ignore[import-not-found]


class Rows(StatelessSourcePartition):  # type: ignore[misc]
    def __init__(self, folder: str) -> None:
        self.batches = (
            batch
            for file in sorted(Path(folder).glob("*.parquet"))
            for batch in pq.ParquetFile(file).iter_batches(1000)
        )

    def next_batch(self) -> Any:
        columns = next(self.batches).columns
        return list(zip(*(column.to_pylist() for column in columns), strict=True))


class Source(DynamicSource):  # type: ignore[misc]
    def __init__(self, folder: str) -> None:
        self.folder = folder

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Rows:
        return Rows(self.folder)


class Dropped(StatelessSinkPartition):  # type: ignore[misc]
    count = 0

    def write_batch(self, items: Any) -> None:
        Dropped.count += len(items)


class Sink(DynamicSink):  # type: ignore[misc]
    def build(self, step_id: str, worker_index: int, worker_count: int) -> Dropped:
        return Dropped()


def counted(state: Any, row: Any) -> Any:
    n, total = (state[0] + 1, state[1] + row[2]) if state else (1, row[2])
    return (n, total), (row[1], n, total)


def flow(case: str, folder: str) -> Any:
    made = Dataflow(case)
    rows = op.input("rows", made, Source(folder))
    if case == "keyed":
        keyed = op.key_on("key", rows, lambda row: str(row[1]))
        found = op.stateful_map("count", keyed, counted)
    else:
        found = op.map("map", rows, lambda row: (row[0], row[2] * 2, row[3]))
    op.output("out", found, Sink())
    return made


for folder in sys.argv[2:]:
    Dropped.count = 0
    begun, wall = time.process_time(), time.monotonic()
    run_main(flow(sys.argv[1], folder))
    cost = {"cpu": time.process_time() - begun, "wall": time.monotonic() - wall, "rows": Dropped.count}
    print(json.dumps(cost), flush=True)
