"""A soak of brokers from its beginning to its end."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

from millstream import journal
from millstream.journal.topics import describe
from soak.brokers.broker import Broker
from soak.brokers.faults import BROKERS, KINDS, World
from soak.brokers.job import ENVIRONMENT, Places
from soak.brokers.judge import Judged, judged
from soak.brokers.load import Load
from soak.disk import mounted
from soak.kinds import order
from soak.process import PATIENCE, JobProcess
from soak.strike import Plan, Struck, strike_all

MEGABYTES = 512
"""Size of the disk: with less than 128 MiB left, nothing is received."""


@contextmanager
def world(seed: int) -> Iterator[tuple[World, Path]]:
    """The brokers, the proxies to them, and the running job; all of it is gone afterwards. The path: what the job
    receives."""
    os.environ.update(ENVIRONMENT)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="millstream-soak-")))
        disk = stack.enter_context(mounted(folder / "disk", MEGABYTES))
        brokers: list[Broker] = [broker(stack) for broker in BROKERS]
        out = folder / "out"
        for broker in brokers:
            journal.create(out, broker.name)
        ports = {broker.name: broker.way.port for broker in brokers}
        Places(str(folder / "disk" / "checkpoint"), str(out), ports).save(folder)
        job = JobProcess("soak.brokers.job", folder)
        stack.callback(job.kill)
        loads = {broker.title: Load(broker) for broker in brokers}
        yield World({broker.title: broker for broker in brokers}, loads, disk, job, Random(seed)), out


def soak(plan: Plan) -> tuple[list[Struck], Judged]:
    with world(plan.seed) as (there, out):
        names = [broker.name for broker in there.brokers.values()]

        def more_of_each() -> Callable[[], bool]:
            """Whether something has been received from every broker since now."""
            before = {name: ends(out, name) for name in names}
            return lambda: all(ends(out, name) > before[name] for name in names)

        with ExitStack() as loads:
            for load in there.loads.values():
                loads.enter_context(load)
            there.job.until(more_of_each(), "its start")
            kinds = order(KINDS, plan.faults, there.random, there.disk is not None)
            struck = strike_all(kinds, there, there.job, more_of_each, plan)
        return struck, ended(there, out)


def ends(out: Path, topic: str) -> int:
    return sum(part.end for part in describe(out, topic).partitions)


def ended(there: World, out: Path) -> Judged:
    """The result when everything is there; or, if it does not come, what is there then."""
    deadline = time.monotonic() + PATIENCE
    sent = {title: load.sent for title, load in there.loads.items()}
    while True:
        begun = time.monotonic()  # to read all copies may take longer than to wait for the last ones
        found = judged(out, sent, tuple(there.brokers.values()))
        if found.well or begun > deadline:
            return found
        time.sleep(2)
