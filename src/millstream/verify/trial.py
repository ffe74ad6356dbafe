"""Kills a job at one place after the other, lets it go on each time, and compares what its sinks hold.

input ─▶ the job without faults, twice ─▶ sinks ─┐
     ├─▶ the job as batch SQL ──────────▶ sinks ─┼─▶ must be the same, row by row
     └─▶ the job, killed ─▶ going on ───▶ sinks ─┘

Most kills are images (images.py) of a run that goes on by itself: each is then taken up by another run, which may be
killed in turn. A few processes are killed for real.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Self

from millstream.api.job import Job
from millstream.errors import MillstreamError
from millstream.plan.nodes import Sink
from millstream.storage import files_at
from millstream.testing.changelog import Rows
from millstream.testing.epochs import last_read
from millstream.verify.contents import Held, held
from millstream.verify.determinism import order_matters, waiting
from millstream.verify.faults import Chain, Choice, Fault, Visit, label
from millstream.verify.images import copy, frozen, restore
from millstream.verify.inputs import Input, fill
from millstream.verify.moving import gone_on
from millstream.verify.process import Ran, Worker
from millstream.verify.sandbox import CHECKPOINT, INPUT, OUTPUT
from millstream.verify.visits import Listener, Watch

EPOCHS = 6
"""About how many epochs the input is cut into."""
ROUND = 16
"""How many images are taken of one run."""
TRIES = 5
"""How many places are tried for a kill for real."""
TWICE = 0.3
"""How often a run that continues is killed again."""

Outputs = dict[str, Held]


@dataclass(frozen=True)
class Difference:
    """Rows of a sink that are too few, and too many."""

    sink: str
    lost: Rows
    duplicated: Rows

    def first(self) -> str:
        rows = [f"missing: {row}" for row in self.lost] + [f"too much: {row}" for row in self.duplicated]
        return "; ".join(row[:300] for row in rows[:2])


@dataclass(frozen=True)
class Outcome:
    """The outcome of a chain of faults. `error`: why it did not finish."""

    chain: Chain
    differences: tuple[Difference, ...]
    error: str | None = None
    real: bool = False
    """Whether the process was killed, and not only imaged."""

    @property
    def good(self) -> bool:
        return not self.differences and self.error is None


class Trial:
    """One input, processed many times, in one folder."""

    def __init__(
        self,
        job: Job,
        file: Path,
        folder: Path,
        given: Input,
        at: str = "",
        mode: str = "micro-batch",
        storage: str | None = None,
        moved: str | None = None,
    ) -> None:
        """`at`: it is killed at places only whose name has this in it. `mode`: or real-time. `storage`: where it has
        its checkpoint and writes topics and files, if not in the folder. `moved`: in the middle of its input, by a
        `savepoint` or to another parallelism by `rescale`."""
        self.job = job
        self.mode = mode
        self.moved = moved
        self._at = at
        self.file = file
        self.folder = folder
        self.given = given
        self.inputs = fill(job._sinks, folder / INPUT, given)
        limits = {name: max(1, -(-count // EPOCHS)) for name, (count, _) in self.inputs.items()}
        self._limits = None if self.real_time else limits
        self._listener = Listener()
        self.storage = storage
        self._runs = 0
        self._worker = Worker(file, folder, self._listener.environment, storage)
        self._images = 0
        self._exact: set[str] = set()
        """Sinks that get the same records in every run, not just the same table in the end. None in real time, where
        results are sent as rows come: two runs that send the same ones do so by chance."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.close()
        self._listener.close()
        if self.storage:
            self._forget()

    @property
    def real_time(self) -> bool:
        return self.mode == "real-time"

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return self.job._sinks

    @property
    def _place(self) -> Path:
        return self.folder / "run"

    @property
    def _elsewhere(self) -> str | None:
        """On the storage: a folder for each run that begins from the start."""
        return f"{self.storage}/{self.folder.name}-{self._runs}" if self.storage else None

    def _forget(self) -> None:
        shutil.rmtree(self._place, ignore_errors=True)
        if self._elsewhere is not None and self._runs:
            files_at(self._elsewhere).delete_all(self._elsewhere)

    def _anew(self) -> None:
        """The next run begins from the start."""
        self._forget()
        self._runs += 1

    # --- without faults

    def straight(self) -> None:
        """Two runs without a fault: what they write, and which places they meet."""
        self.expected = self._straight(Watch())
        # The first run is slow, while its JVM is new: in real time it has more epochs than any that follows.
        watch = Watch()
        second = self._straight(watch)
        self.choice = Choice(self._chosen(watch.seen), self.given.seed, self._behind_the_last_rows())
        for name, difference in differences(self.expected, second, set()):
            raise MillstreamError(
                "MS-VERIFY-004",
                f'sink "{name}" of job "{self.job.name}" differs between two runs without any fault.',
                found=difference.first(),
                hint=self._why(name),
            )
        same = {name for name in second if second[name].records == self.expected[name].records}
        self._exact = set() if self.real_time else same

    def _why(self, name: str) -> str:
        reason = next(order_matters(sink) for sink in self.sinks if sink.name == name)
        if self.real_time and reason:
            return f"{reason}: verify the job in micro-batches, which are cut in the same way each time"
        return "a step gives something else each time, or goes by an order that rows do not have"

    def _straight(self, watch: Watch) -> Outputs:
        self._anew()
        self._late = self._well(self._run(watch)).late
        return self._outputs()

    def _behind_the_last_rows(self) -> Visit | None:
        """A run from there finds nothing to read, and yet something may be due: time has moved on."""
        root = str(self._elsewhere or self._place)
        epoch = last_read(gone_on(root, self.moved) if self.moved else f"{root}/{CHECKPOINT}")
        return None if epoch is None else Visit("commits.after", epoch)

    def _chosen(self, visits: list[Visit]) -> list[Visit]:
        found = [visit for visit in visits if self._at in label(visit.place)]
        if not found:
            places = dict.fromkeys(label(visit.place) for visit in visits)
            raise MillstreamError(
                "MS-VERIFY-009",
                f'job "{self.job.name}" meets no place that has {self._at!r} in its name.',
                found=", ".join(places),
            )
        return found

    def _well(self, ran: Ran) -> Ran:
        if ran.error is not None:
            raise MillstreamError(
                "MS-VERIFY-001", f'job "{self.job.name}" fails without any fault.', found=indented(ran.error)
            )
        return ran

    def batch(self) -> dict[str, str]:
        """Compares with batch SQL; for sinks that rightly differ, says why."""
        place = self.folder / "batch"
        self._well(self._worker.run(place.name, "batch"))
        found = {sink.name: held(sink, place / OUTPUT) for sink in self.sinks}
        matters = {sink.name: order_matters(sink) for sink in self.sinks}
        notes = {name: f"not compared with batch SQL: {reason}" for name, reason in matters.items() if reason}
        open_ = {sink.name: node for sink in self.sinks if (node := waiting(sink)) is not None}
        for name, difference in differences(found, self.expected, set()):
            if self._late:
                notes.setdefault(name, f"not as batch SQL, where no row is late: here {self._late} were")
            if name in open_ and not difference.duplicated:
                rows = f'{difference.lost.total()} rows of step "{open_[name].name}"'
                notes.setdefault(name, f"as batch SQL, but for {rows}, which still wait for time to go on")
            if name not in notes:
                raise MillstreamError(
                    "MS-VERIFY-002",
                    f'sink "{name}" of job "{self.job.name}" differs from the job as batch SQL, without any fault.',
                    found=difference.first(),
                    hint="does a step depend on the order in which rows come?",
                )
        return notes

    # --- with faults

    def faults(self) -> Iterator[Outcome | None]:
        """Without end, in rounds: a kill for real, and then images of one run, each of them taken up again; where
        there is no folder to copy, all for real. None: a round is over, which may have met no place at all."""
        random = Random(self.given.seed)
        while True:
            yield from self._killed(random)
            if self.storage:
                yield None
                continue
            images = self._imaged([self.choice.first() for _ in range(ROUND)])
            for fault, image in images.items():
                again = self.choice.after(fault) if random.random() < TWICE else None
                yield from self._taken_up((fault,), image, again)
            yield None

    def _imaged(self, faults: list[Fault]) -> dict[Fault, Path]:
        self._anew()
        images: dict[Fault, Path] = {}
        self._well(self._run(self._imaging(faults, images)))
        return images

    def _taken_up(self, chain: Chain, image: Path, again: Fault | None) -> Iterator[Outcome]:
        """Goes on from an image, to the end; and from the image that was taken on the way, if one was."""
        images: dict[Fault, Path] = {}
        restore(image, self._place)
        shutil.rmtree(image)
        ran = self._run(self._imaging([again] if again else [], images))
        yield self._outcome(chain, ran)
        for fault, second in images.items():
            yield from self._taken_up((*chain, fault), second, None)

    def chain(self, chain: Chain) -> Outcome:
        """One chain alone."""
        self._anew()
        for fault in chain:
            if not (self._dies(fault) if self.storage else self._leaves(fault)):
                raise MillstreamError("MS-VERIFY-007", f"the job no longer comes to {fault}.")
        return self._outcome(chain, self._run(Watch()))

    def _leaves(self, fault: Fault) -> bool:
        """Runs to a fault, and leaves its folder as it was there; whether it got there."""
        images: dict[Fault, Path] = {}
        self._run(self._imaging([fault], images))
        if fault in images:
            restore(images[fault], self._place)
        return fault in images

    def _dies(self, fault: Fault) -> bool:
        return self._run(Watch([fault], lambda fault: self._worker.kill())).killed

    def _died(self) -> Fault | None:
        """The fault that killed a run. In real time, epochs are cut by the clock: a run may be over before it comes to
        the place that was chosen, and then another place has its turn."""
        for _ in range(TRIES):
            self._anew()
            fault = self.choice.first()
            if self._dies(fault):
                return fault
        return None

    def _killed(self, random: Random) -> Iterator[Outcome]:
        """A process that is killed for real, and another one that goes on."""
        fault = self._died()
        if fault is None:
            return
        chain: Chain = (fault,)
        again = self.choice.after(fault) if self.storage and random.random() < TWICE else None
        if again is not None and self._dies(again):
            chain = (fault, again)
        yield self._outcome(chain, self._run(Watch()), real=True)

    def _imaging(self, faults: list[Fault], images: dict[Fault, Path]) -> Watch:
        def image(fault: Fault) -> None:
            self._images += 1
            to = self.folder / f"image-{self._images}"
            with frozen(self._worker.group):
                copy(self._place, to)
            images[fault] = to

        return Watch(faults, image)

    def _run(self, watch: Watch) -> Ran:
        self._listener.watch = watch
        try:
            return self._worker.run(self._place.name, self.mode, self._limits, self._elsewhere, self.moved)
        finally:
            watch.end()

    def _outcome(self, chain: Chain, ran: Ran, real: bool = False) -> Outcome:
        found = [difference for _, difference in differences(self.expected, self._outputs(), self._exact)]
        return Outcome(chain, tuple(found), ran.error, real)

    def _outputs(self) -> Outputs:
        elsewhere = f"{self._elsewhere}/{OUTPUT}" if self._elsewhere else None
        return {sink.name: held(sink, self._place / OUTPUT, elsewhere) for sink in self.sinks}


def differences(expected: Outputs, found: Outputs, exact: set[str]) -> list[tuple[str, Difference]]:
    """By record for sinks that are compared exactly, otherwise by what the records come to."""
    told = []
    for name in expected:
        want, have = (part.records if name in exact else part.table for part in (expected[name], found[name]))
        if want != have:
            told.append((name, Difference(name, minus(want, have), minus(have, want))))
    return told


def minus(one: Rows, other: Rows) -> Rows:
    """What one has more of than the other, where counts may be below zero."""
    return Rows({row: one[row] - other[row] for row in one.keys() | other.keys() if one[row] > other[row]})


def indented(text: str) -> str:
    return text.replace("\n", "\n         ")
