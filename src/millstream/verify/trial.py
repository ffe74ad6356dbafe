"""Kills a job at one place after the other, starts it again each time, and compares what its sinks hold.

input ─▶ job without faults ──▶ sinks ─┐
     ├─▶ job as batch SQL ────▶ sinks ─┼─▶ must be the same, row by row
     └─▶ job, killed and killed ▶ sinks ┘
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from millstream.api.job import Job
from millstream.errors import MillstreamError
from millstream.plan.nodes import Sink
from millstream.testing.changelog import Rows
from millstream.testing.faults import POINTS, Fault
from millstream.verify.sandbox import contents

KILLED = 137
EPOCHS = 14
"""About so many the input is cut into."""
FAULTS = 6
"""So often a run is killed before it comes to its end."""


@dataclass(frozen=True)
class Differences:
    """What is not as it should be in a sink: rows too few, rows too many."""

    lost: Rows
    duplicated: Rows


@dataclass
class Trial:
    """One input, worked off several times."""

    job: Job
    file: Path
    folder: Path
    rows: dict[str, int]
    seed: int
    patience: float = 300
    """Seconds after which a run hangs."""
    points: set[str] = field(default_factory=set)
    """Where it was killed."""

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return self.job._sinks

    def place(self, name: str) -> Path:
        """A folder of its own for a run, with the input in it."""
        made = self.folder / name
        made.mkdir()
        (made / "input").symlink_to(self.folder / "input")
        return made

    def expected(self) -> dict[str, Rows]:
        """What a run without faults gives, which must be what batch SQL gives."""
        straight, batch = self.place("straight"), self.place("batch")
        self.start(straight, None)
        self.start(batch, None, batch=True)
        held = self.held(straight)
        for name, difference in differences(self.held(batch), held).items():
            raise MillstreamError(
                "MS-VERIFY-002",
                f'sink "{name}" of job "{self.job.name}" differs from the same job as batch SQL, without any fault.',
                found=first(difference),
                hint="does a step depend on the order in which rows come?",
            )
        return held

    def rounds(self) -> Iterator[list[Fault]]:
        """Every point, again and again, in an order that the seed gives; each in an epoch of its own."""
        random = Random(self.seed)
        points: list[str] = []
        while True:
            epochs = sorted(random.sample(range(1, EPOCHS), FAULTS))
            while len(points) < FAULTS:
                points += random.sample(POINTS, len(POINTS))
            yield [Fault(points.pop(0), epoch) for epoch in epochs]

    def killed(self, name: str, faults: list[Fault], met: Callable[[Fault], None]) -> Path:
        """A run that is killed at each of these in turn, and then comes to its end."""
        place = self.place(name)
        ended = False
        for fault in faults:
            ended = not self.start(place, fault)
            if not ended:
                self.points.add(fault.point)
                met(fault)
        if not ended:
            self.start(place, None)
        return place

    def held(self, place: Path) -> dict[str, Rows]:
        return {sink.name: contents(sink, place) for sink in self.sinks}

    def start(self, place: Path, fault: Fault | None, batch: bool = False) -> bool:
        """Runs the job's process to its end; whether it was killed by the fault."""
        limits = {name: max(1, -(-rows // EPOCHS)) for name, rows in self.rows.items()}
        (place / "run.json").write_text(json.dumps({"batch": batch, "rows_per_epoch": limits}))
        told = {"MILLSTREAM_VERBOSE": "1", **(fault.environment() if fault else {})}
        command = [sys.executable, "-m", "millstream.verify.child", str(self.file), str(place)]
        with (place / "log.txt").open("ab") as log:
            begun = time.monotonic()
            done = subprocess.run(command, env={**os.environ, **told}, stdout=log, stderr=log, timeout=self.patience)
        said = (place / "log.txt").read_text(errors="replace")
        if fault is not None and f"fault: killed at {fault.point}@" in said:
            (place / "log.txt").rename(place / f"log-{begun:.0f}.txt")
            return True
        if done.returncode != 0:
            raise MillstreamError(
                "MS-VERIFY-001",
                f'job "{self.job.name}" fails by itself.',
                found=reason(said),
                hint=f"all that it said is in {place / 'log.txt'}",
            )
        return False

    def clean(self, place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)


def differences(expected: dict[str, Rows], found: dict[str, Rows]) -> dict[str, Differences]:
    told = {name: Differences(expected[name] - found[name], found[name] - expected[name]) for name in expected}
    return {name: part for name, part in told.items() if part.lost or part.duplicated}


def first(difference: Differences) -> str:
    rows = [f"missing: {row}" for row in difference.lost] + [f"too much: {row}" for row in difference.duplicated]
    return "; ".join(rows[:2])


def reason(said: str) -> str:
    ours = [line for line in said.splitlines() if "MS-" in line]
    last = [line for line in said.splitlines() if line.strip()]
    return (ours or last or ["nothing was said"])[-1].strip()[:500]
