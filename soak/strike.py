"""One fault after the other, each on a job that is at work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from millstream.runtime.interrupts import interrupts
from soak.kinds import Kind
from soak.process import JobProcess

W = TypeVar("W")


@dataclass(frozen=True)
class Struck:
    """One fault: how long until the job was back at work, and why it was started again, if it was."""

    kind: str
    seconds: float
    reasons: tuple[str, ...]
    given_up: bool = False
    """Whether it ended for good, and was started by hand."""


@dataclass(frozen=True)
class Plan:
    """How long to go on, and where to report."""

    faults: int
    seconds: float | None
    """After which no more faults come."""
    seed: int
    tell: Callable[[Struck], None]


def strike_all(
    kinds: Iterable[Kind[W]], world: W, job: JobProcess, at_work: Callable[[], Callable[[], bool]], plan: Plan
) -> list[Struck]:
    """`at_work`: from now on, whether the job is back at work, so that the next fault meets it there.

    Ctrl-C ends it after the current fault: the results of all faults are judged as usual.
    """
    random, begun = Random(plan.seed), time.monotonic()
    struck: list[Struck] = []
    with interrupts() as interrupted:
        for kind in kinds:
            time.sleep(random.uniform(0, 0.5))  # somewhere within an epoch
            struck.append(strike(kind, world, job, at_work))
            plan.tell(struck[-1])
            late = plan.seconds is not None and time.monotonic() - begun > plan.seconds
            if late or interrupted.is_set():
                break
    return struck


def strike(kind: Kind[W], world: W, job: JobProcess, at_work: Callable[[], Callable[[], bool]]) -> Struck:
    before, ends = len(job.failures()), job.given_up
    mend = kind.strike(world)
    seconds = job.until(at_work(), kind.name)
    if mend is not None:
        mend()
    return Struck(kind.name, seconds, tuple(job.failures()[before:]), job.given_up > ends)
