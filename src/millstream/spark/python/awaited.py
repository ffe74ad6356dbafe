"""An async function that is called with one row at a time, and awaited for many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.plan.python import Awaits
from millstream.spark.python.found import Found, Letter

if TYPE_CHECKING:
    from millstream.spark.python.caller import Caller

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds before a call is repeated: each pause is twice as long as the one before."""


@cache
def loop() -> asyncio.AbstractEventLoop:
    """The same for all rows: connections that the user's code keeps open belong to it."""
    return asyncio.new_event_loop()


class AwaitEach:
    """All rows that it is given are awaited before it returns: so nothing is in flight when a barrier passes."""

    def __init__(self, caller: Caller, awaits: Awaits) -> None:
        self.caller = caller
        self.awaits = awaits
        self.nothing = (None,) * caller.shape.width

    def called(self, columns: list[pa.Array]) -> Found:
        rows = self.caller.decoded(columns)
        return self.found(range(len(rows)), rows, loop().run_until_complete(self.all(rows)))

    def found(self, places: Iterable[int], rows: Iterable[Any], outcomes: Iterable[Any]) -> Found:
        """The results of rows at these places: of each what it became, or what went wrong."""
        found: list[Any] = []
        of: list[int] = []
        letters: dict[int, Letter] = {}
        for at, row, outcome in zip(places, rows, outcomes, strict=True):
            if isinstance(outcome, Exception):
                letter = self.caller.failed(outcome, row)
                if letter is None:
                    continue
                letters[len(found)] = letter
                outcome = self.nothing
            found.append(outcome)
            of.append(at)
        return Found(len(found), self.caller.shape.columns(found), of, letters)

    async def all(self, rows: list[Any]) -> list[Any]:
        """Of each row what it became, or what went wrong."""
        outcomes: list[Any] = [None] * len(rows)
        left = iter(enumerate(rows))
        tasks = min(self.awaits.in_flight, len(rows))
        await asyncio.gather(*(self.some(left, outcomes) for _ in range(tasks)))
        return outcomes

    async def some(self, left: Iterator[tuple[int, Any]], outcomes: list[Any]) -> None:
        for at, row in left:
            try:
                outcomes[at] = self.caller.shape.row(await self.one(row))
            except Exception as error:
                outcomes[at] = error
                if self.caller.on_error == "fail":
                    # It ends the run: no more calls are made.
                    for _ in left:
                        pass

    async def one(self, row: Any) -> Any:
        """The answer of the first call that gives one in time."""
        pause = FIRST_PAUSE
        for _ in range(self.awaits.retries):
            try:
                return await self.attempt(row)
            except Exception:
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
        return await self.attempt(row)

    async def attempt(self, row: Any) -> Any:
        seconds = self.awaits.timeout_ms / 1000
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self.caller.function(row)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise TimeoutError(f"gave no answer within {seconds:g} s") from error
