"""Runs a process with async methods: many keys of a load at once, the rows of each key one after the other.

keys of a load ─▶ a lane: its own object of the user's class, with the state of one key ─▶ the next key that is left
               ─▶ a lane …

A load ends when all its keys have: so nothing is in flight when a barrier passes.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from millstream.spark.python.awaited import loop
from millstream.spark.python.calls import Found
from millstream.spark.python.group import Ask, Group
from millstream.spark.python.runner import ROWS, Runner, Steps, Work, made, sent
from millstream.spark.python.spec import ProcessSpec

Outcomes = list[tuple[Found, int]]
"""Of each key: the rows that came of it, and how many were skipped."""


class Lane(Runner):
    """Works off one key after the other."""

    async def follow(self, left: Iterator[tuple[int, Work]], outcomes: Outcomes) -> None:
        for place, (kind, at, key, group, rows, times) in left:
            self.enter(group)
            await self.awaited(self.fire(group, key, at, kind) if kind != ROWS else self.each(group, key, rows, times))
            self.schedule(group)
            outcomes[place] = self.calls.end()

    def each(self, group: Group, key: Any, rows: list[Any], times: list[int]) -> Steps:
        for row, time in zip(rows, times or [self.now_ms] * len(rows), strict=True):
            self.clock.time = time
            yield from self.attempt(group, self.process.on_row, key, row, row)

    async def awaited(self, steps: Steps) -> None:
        call = next(steps, None)
        while call is not None:
            call = sent(steps, await self.calls.awaited(*call))


class Lanes:
    def __init__(self, spec: ProcessSpec, ask: Ask) -> None:
        self.spec = spec
        self.ask = ask
        self.process = made(spec)
        self.lanes: list[Lane] = []

    def open(self, count: int) -> list[Lane]:
        """The first `count` lanes. All share what the user's object holds when it is created, such as connections."""
        while len(self.lanes) < count:
            self.lanes.append(Lane(self.spec, self.ask, copy.copy(self.process)))
        return self.lanes[:count]

    def run(self, watermark: int, now: int, groups: pa.RecordBatch, rows: pa.RecordBatch) -> tuple[int, bytes, bytes]:
        """As `Runner.run`."""
        lanes = self.open(max(1, min(self.spec.in_flight, groups.num_rows)))
        for lane in lanes:
            lane.begin(watermark, now)
        works = list(lanes[0].works(groups, rows))
        outcomes: Outcomes = [(Found(), 0)] * len(works)
        loop().run_until_complete(side_by_side(lanes, works, outcomes))
        found, skipped = Found(), 0
        for more, failed in outcomes:
            found.join(more)
            skipped += failed
        changed = [group for _, _, _, group, _, _ in works if group.changed]
        return skipped, lanes[0].written(found), lanes[0].told(changed)


async def side_by_side(lanes: list[Lane], works: list[Work], outcomes: Outcomes) -> None:
    left = iter(enumerate(works))
    tasks = [asyncio.create_task(lane.follow(left, outcomes)) for lane in lanes]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
