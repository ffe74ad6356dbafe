"""How a job runs: the same job, the same results."""

from __future__ import annotations

import re
from dataclasses import dataclass

from millstream.errors import MillstreamError
from millstream.plan.errors import here

UNITS = {"ms": 1, "millisecond": 1, "s": 1000, "second": 1000, "m": 60_000, "min": 60_000, "minute": 60_000}
UNITS |= {"h": 3_600_000, "hour": 3_600_000, "d": 86_400_000, "day": 86_400_000, "w": 604_800_000, "week": 604_800_000}
SHORTEST_EPOCH_MS = 100
"""The shortest interval in real time: with a shorter one, saving state would take all the time."""


@dataclass(frozen=True)
class Batch:
    """All input there is, once, as plain SQL.

    `clock_ms`: the time that a test sets, in milliseconds, instead of the machine's.
    """

    clock_ms: int | None = None


@dataclass(frozen=True)
class MicroBatch:
    """An epoch at a regular interval; `until_caught_up`: stop when all input that was there at the start is done.

    `clock`: the test whose clock it goes by, instead of the machine's. `again`: only the epoch that was begun last and
    is not committed, with the same rows.
    """

    every_ms: int
    until_caught_up: bool = False
    clock: str | None = None
    again: bool = False


@dataclass(frozen=True)
class RealTime:
    """Rows flow all the time; at a regular interval a barrier passes and state is committed."""

    checkpoint_every_ms: int


Mode = Batch | MicroBatch | RealTime
MODE_NAMES: dict[type[Mode], str] = {Batch: "batch", MicroBatch: "micro-batch", RealTime: "real time"}


@dataclass(frozen=True)
class ProcessingTime:
    """The time at which a record came into the log, as a column."""

    column: str


def processing_time(column: str = "processing_time") -> ProcessingTime:
    """The time of a stream whose rows have none: when each came into the log. `time=ms.processing_time()`."""
    return ProcessingTime(column)


def batch() -> Batch:
    return Batch()


def micro_batch(every: str = "1 second", *, available_now: bool = False) -> MicroBatch:
    return MicroBatch(milliseconds(every), available_now)


def available_now() -> MicroBatch:
    """Micro-batches over what there is now, then stop."""
    return MicroBatch(0, True)


def real_time(checkpoint_every: str = "5 seconds") -> RealTime:
    every_ms = milliseconds(checkpoint_every)
    if every_ms < SHORTEST_EPOCH_MS:
        raise MillstreamError(
            "MS-TIME-002",
            f"a checkpoint every {checkpoint_every} is too often: a barrier takes a while to come through.",
            at=here(),
            hint=f"{SHORTEST_EPOCH_MS} ms or more; rows that are not committed yet are seen before that, by readers "
            'with isolation="read_uncommitted"',
        )
    return RealTime(every_ms)


def milliseconds(text: str) -> int:
    """`"5 seconds"`, `"200 ms"`, `"1m"` as milliseconds."""
    length = text if isinstance(text, str) else ""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", length, re.IGNORECASE)
    word = found.group(2).lower() if found else ""
    unit = UNITS.get(word) or UNITS.get(word.removesuffix("s"))
    if found is None or unit is None:
        raise MillstreamError(
            "MS-TIME-001", f"{text!r} is not a length of time.", at=here(), hint='write it as "5 seconds" or "200 ms"'
        )
    return int(float(found.group(1)) * unit)
