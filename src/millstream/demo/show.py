"""The demo from start to end.

generator ─likes─▶ job in real time ─matches─▶ two meters: read uncommitted, read committed
                                                └─▶ snapshots ─▶ panel or lines
then: the generator stops, the job catches up and stops, and the same job in batch is the judge.
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from millstream import journal
from millstream.demo.generator import Generator
from millstream.demo.job import PARTITIONS, match_job
from millstream.demo.meter import Meter, Rate
from millstream.demo.screen import Screen, screen
from millstream.demo.verdict import Verdict, compare
from millstream.demo.view import Snapshot
from millstream.plan.modes import Batch, RealTime
from millstream.runtime.interrupts import interrupts
from millstream.runtime.run import Run

STEP = 0.25
STREAM, BATCH = "matches", "matches-batch"


@dataclass(frozen=True)
class Plan:
    """What the user asked for."""

    folder: Path
    rate: float
    every_ms: int
    length: float | None

    @property
    def journal(self) -> Path:
        return self.folder / "journal"


def show(plan: Plan) -> bool:
    """Runs it all; whether stream and batch agree. The verdict is the last line."""
    console = Console(highlight=False)
    for topic in ("likes", STREAM, BATCH):
        journal.create(plan.journal, topic, PARTITIONS)
    with screen(console) as view:
        verdict = perform(plan, view)
    console.print(str(verdict), style="bold green" if verdict.equal else "bold red", soft_wrap=True)
    return verdict.equal


def perform(plan: Plan, view: Screen) -> Verdict:
    view.wait("Spark is starting")
    run = match_job(plan.folder, STREAM).start(RealTime(plan.every_ms))
    view.wait("the job's first epoch is running")
    while run.progress() is None:
        run.poll(STEP)
    with ExitStack() as stack:
        demo = Demo(plan, view, run)
        stack.callback(demo.close)
        view.say("Ctrl-C ends the demo.")
        with interrupts() as ending:
            demo.stream(ending)
        likes = demo.catch_up()
    view.wait("the same job is running in batch, to compare")
    match_job(plan.folder, BATCH).start(Batch())
    verdict = compare(plan.journal, likes, STREAM, BATCH)
    view.say("")
    return verdict


class Demo:
    """The part in which likes flow."""

    def __init__(self, plan: Plan, view: Screen, run: Run) -> None:
        self._plan = plan
        self._view = view
        self._run = run
        self._ended = False
        self._uncommitted = Meter(plan.journal, STREAM, "read_uncommitted")
        self._committed = Meter(plan.journal, STREAM, "read_committed")
        self._generator = Generator(plan.journal, plan.rate)
        self._begun = time.monotonic()
        self._likes, self._matches = Rate(), Rate()
        self._now = Snapshot(length=plan.length, every_ms=plan.every_ms)

    def stream(self, ending: threading.Event) -> None:
        """Waits until the time is over or the user ends it."""
        while not ending.is_set() and not self._over():
            self._step()

    def _over(self) -> bool:
        return self._plan.length is not None and time.monotonic() - self._begun >= self._plan.length

    def _step(self) -> None:
        self._run.poll(STEP)
        for part in (self._generator, self._uncommitted, self._committed):
            part.check()
        self._look()
        self._view.show(self._now)

    def _look(self) -> None:
        progress = self._run.progress()
        likes, matches = self._generator.sent, self._uncommitted.count
        if not self._ended:  # afterwards, time and rates say nothing
            self._now = replace(
                self._now,
                elapsed=time.monotonic() - self._begun,
                likes_rate=self._likes.note(likes),
                matches_rate=self._matches.note(matches),
            )
        self._now = replace(
            self._now,
            likes=likes,
            matches=matches,
            uncommitted=self._uncommitted.latency(),
            committed=self._committed.latency(),
            epochs=progress.epoch + 1 if progress else 0,
            state_rows=progress.state_rows if progress else None,
            state_bytes=progress.state_bytes if progress else 0,
            latest=self._uncommitted.latest,
        )

    def catch_up(self) -> int:
        """Stops the likes; the job reads those that are there, commits, and stops. Returns how many there were."""
        self._ended = True
        likes = self._generator.stop()
        ends = {p.partition: p.end for p in journal.describe(self._plan.journal, "likes").partitions}
        self._view.wait("no more likes; the last ones are being matched and committed")
        while not self._has_read(ends):
            self._step()
        self.close()
        self._look()
        self._view.show(self._now)
        return likes

    def _has_read(self, ends: dict[int, int]) -> bool:
        progress = self._run.progress()
        if progress is None or not progress.offsets:
            return False
        read = json.loads(progress.offsets[0])
        return all(read.get(str(partition), 0) >= end for partition, end in ends.items())

    def close(self) -> None:
        self._generator.close()
        self._run.stop()
        self._uncommitted.close()
        self._committed.close()
