"""An async function whose results are given as soon as they are there, while calls for other rows go on."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.plan.python import Awaits
from millstream.spark.python.awaited import AwaitEach, loop
from millstream.spark.python.found import Found

if TYPE_CHECKING:
    from millstream.spark.python.caller import Caller

PATIENCE = 0.002
"""Seconds to wait for a call to end before the answer says how many are still in flight."""

Row = tuple[int, int, Any]
"""The number of the batch that it came in, its place there, and itself."""


class AwaitAny:
    def __init__(self, caller: Caller, awaits: Awaits) -> None:
        self.each = AwaitEach(caller, awaits)
        self.caller = caller
        self.most = awaits.in_flight
        self.left: deque[Row] = deque()
        self.running: dict[asyncio.Task[Any], Row] = {}
        self.done: list[tuple[Row, Any]] = []
        self.batches: dict[int, pa.RecordBatch] = {}
        """Those of which rows have yet to be given back."""
        self.number = 0

    @property
    def pending(self) -> int:
        return len(self.left) + len(self.running)

    def of_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield self.of_batch(batch)
        while self.pending:
            yield self.of_batch(batch.slice(0, 0))

    def of_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Takes rows on; gives those whose calls have ended, of this and of earlier batches."""
        self.number += 1
        self.batches[self.number] = batch
        rows = self.caller.decoded(self.caller.own(batch.columns))
        self.left.extend((self.number, at, row) for at, row in enumerate(rows))
        loop().run_until_complete(self.some())
        return self.given()

    async def some(self) -> None:
        """Until a call has ended, or for a moment; and, so that rows do not pile up, until all that wait have begun."""
        end = loop().time() + PATIENCE
        self.begin()
        while self.running:
            crowded = len(self.left) > 0
            wait = None if crowded else max(0.0, end - loop().time())
            await asyncio.wait(self.running, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in self.running if task.done()]:
                self.done.append((self.running.pop(task), task.result()))
            self.begin()
            if not self.left and (self.done or loop().time() >= end):
                return

    def begin(self) -> None:
        while self.left and len(self.running) < self.most:
            row = self.left.popleft()
            self.running[loop().create_task(self.one(row[2]))] = row

    async def one(self, row: Any) -> Any:
        try:
            return self.caller.shape.row(await self.each.one(row))
        except Exception as error:
            return error

    def given(self) -> pa.RecordBatch:
        done, self.done = self.done, []
        by_batch: dict[int, list[tuple[Row, Any]]] = {self.number: []}
        for row, outcome in done:
            by_batch.setdefault(row[0], []).append((row, outcome))
        parts = [self.caller.beside(self.batches[number], self.found(ended)) for number, ended in by_batch.items()]
        self.forget()
        columns = [pa.concat_arrays(column) for column in zip(*(part.columns for part in parts), strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=parts[0].schema)

    def found(self, ended: list[tuple[Row, Any]]) -> Found:
        return self.each.found(
            [row[1] for row, _ in ended], [row[2] for row, _ in ended], [outcome for _, outcome in ended]
        )

    def forget(self) -> None:
        """Batches of which no row is left."""
        needed = {row[0] for row in (*self.left, *self.running.values())}
        self.batches = {number: batch for number, batch in self.batches.items() if number in needed}
