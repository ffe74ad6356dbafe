"""Runs a whole job over what a test gives it, epoch by epoch, without touching any system, and without waiting.

inputs ─▶ steps ─▶ the job's own plan, its sources and sinks swapped ─▶ what each sink kept, by epoch
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time_ns
from typing import TYPE_CHECKING, Any

from millstream.api.job import Job
from millstream.errors import MillstreamError, did_you_mean
from millstream.plan.errors import here
from millstream.plan.modes import Batch, MicroBatch, Mode, RealTime
from millstream.plan.nodes import Source
from millstream.plan.restarts import no_restart
from millstream.planner.stages import JobPlan, plan_job
from millstream.testing.given import Entry, Inputs, Item, Moment, Watermark, cut, entries, marks, micros, moment, script
from millstream.testing.given import wrong as wrong_input
from millstream.testing.swap import marks_of, place, swapped
from millstream.testing.written import Result, read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.spark.memory import Memory

Clock = Moment | Sequence[Moment | None]
Given = dict[Source, list[list[Item]]]


def run(
    job: Job,
    inputs: Inputs,
    *,
    clock: Clock | None = None,
    mode: Mode | None = None,
    restart_between: bool = False,
    parallelism: int = 1,
    spark: SparkSession | None = None,
) -> Result:
    """Runs a job with these rows and gives what it wrote, by sink and epoch.

    `inputs`: for each source by its name, a list of rows, or a list of such lists, one per epoch. `clock`: what
    `current_timestamp()` says, all the time or in each epoch. `mode=ms.batch()`: all at once, as plain SQL, at the
    clock's last time.
    `restart_between`: the job is stopped after each epoch, and continues from its checkpoint.
    """
    if isinstance(mode, RealTime):
        raise MillstreamError(
            "MS-TEST-005",
            "in real time an epoch ends when its time is over: a test cannot say what is in it.",
            at=here(),
            hint="leave out mode=: micro-batches give the same results",
        )
    test = Test.of(job, inputs, clock)
    with test.memory(spark or shared()) as memory:
        if isinstance(mode, Batch):
            return test.in_one(memory, parallelism)
        return test.by_epochs(memory, parallelism, restart_between)


@dataclass(frozen=True)
class Runner:
    """`run`, in one Spark session: what the pytest fixture `millstream` gives."""

    spark: SparkSession

    def run(
        self,
        job: Job,
        inputs: Inputs,
        *,
        clock: Clock | None = None,
        mode: Mode | None = None,
        restart_between: bool = False,
        parallelism: int = 1,
    ) -> Result:
        """Runs a job with these rows and gives what it wrote, by sink and epoch."""
        return run(
            job,
            inputs,
            clock=clock,
            mode=mode,
            restart_between=restart_between,
            parallelism=parallelism,
            spark=self.spark,
        )

    def replay(
        self, file: str | Path, state: str | Path, epoch: int, inputs: Mapping[str, Sequence[Item]]
    ) -> dict[str, list[Any]]:
        """Runs an epoch that `millstream replay --to-test` saved again, with the job in a file; what each sink got."""
        from millstream.cli.jobfile import job_of
        from millstream.replay.as_test import run_test

        return run_test(job_of(Path(file)), Path(state), epoch, inputs, self.spark)


def shared() -> SparkSession:
    from millstream.spark.memory import quick
    from millstream.spark.where import OURS

    return quick(OURS)


@dataclass(frozen=True)
class Test:
    """A job with a test's sources and sinks, and their input.

    An epoch is one step, or two where event time passes: what the watermark closed comes out in the second, empty one.
    """

    name: str
    job: Job
    plan: JobPlan
    epochs: int
    steps: int
    script: str
    clock_ms: int | None
    """What the clock says in the last epoch; None: the test has none."""

    @classmethod
    def of(cls, job: Job, inputs: Inputs, clock: Clock | None) -> Test:
        own = job.plan()
        refuse_unknown(own, inputs)
        given = {source: cut(source.name, inputs.get(source.name, [])) for source in (*own.sources, *own.statics)}
        refuse_late_rows(own, given)
        epochs, steps = max(len(parts) for parts in given.values()), 2 if own.timed else 1
        times = clock_of(clock, epochs)
        name = f"{job.name}-{secrets.token_hex(4)}"
        plan = plan_job(swapped(job._sinks, name, marked(given, clock is not None)))
        text = script([time for time in times for _ in range(steps)], records(given, steps, times))
        return cls(name, job, plan, epochs, steps, text, times[-1])

    @contextmanager
    def memory(self, spark: SparkSession) -> Iterator[Memory]:
        from millstream.spark.memory import Memory

        memory = Memory(self.name, spark)
        memory.give(self.script)
        try:
            yield memory
        finally:
            memory.forget()
            for sink in self.plan.sinks:
                memory.take(place(self.name, sink.name))

    def by_epochs(self, memory: Memory, parallelism: int, restart: bool) -> Result:
        from millstream.runtime.run import Run
        from millstream.runtime.setting import Setting

        mode = MicroBatch(0, True, None if self.clock_ms is None else self.name)
        late: Counter[str] = Counter()
        skipped: Counter[str] = Counter()
        with TemporaryDirectory(prefix="millstream-test-", ignore_cleanup_errors=True) as folder:
            for epoch in range(0 if restart else self.epochs - 1, self.epochs):
                memory.until((epoch + 1) * self.steps)
                setting = Setting(mode, folder, parallelism, memory.spark)
                going = Run.begin(self.job.name, self.plan, setting, no_restart())
                going.wait()
                late.update(going.late())
                skipped.update(going.skipped())
        return self.result(memory, self.epochs, late, skipped)

    def in_one(self, memory: Memory, parallelism: int) -> Result:
        from millstream.runtime.run import Run
        from millstream.runtime.setting import Setting

        setting = Setting(Batch(self.clock_ms), "", parallelism, memory.spark)
        Run.begin(self.job.name, self.plan, setting, no_restart()).wait()
        return self.result(memory, 1, Counter(), Counter())

    def result(self, memory: Memory, epochs: int, late: Counter[str], skipped: Counter[str]) -> Result:
        kept = {sink: memory.take(place(self.name, sink.name)) for sink in self.job._sinks}
        outputs = {sink.name: read(sink, text, epochs, self.steps) for sink, text in kept.items()}
        return Result(outputs, dict(late), dict(skipped))


def marked(given: Given, clocked: bool) -> set[str]:
    """The sources whose watermarks the test moves."""
    return {
        source.name
        for source, epochs in given.items()
        if (clocked and source.arrival) or any(isinstance(item, Watermark) for items in epochs for item in items)
    }


def refuse_unknown(plan: JobPlan, inputs: Inputs) -> None:
    names = [source.name for source in (*plan.sources, *plan.statics)]
    unknown = next((name for name in inputs if name not in names), None)
    if unknown is not None:
        raise wrong_input(
            f'the job has no source "{unknown}".',
            found="sources: " + ", ".join(names),
            hint=did_you_mean(unknown, names),
        )


def refuse_late_rows(plan: JobPlan, given: Given) -> None:
    for source in plan.statics:
        if len(given[source]) > 1:
            raise wrong_input(f'"{source.name}" does not change, and is given rows in several epochs.')


def records(given: Given, steps: int, times: list[int | None]) -> dict[str, list[list[Entry]]]:
    """The records of each source, step by step, and its watermarks."""
    found: dict[str, list[list[Entry]]] = {}
    pause: list[list[Entry]] = [[]] * (steps - 1)
    for source, epochs in given.items():
        rows, told = found.setdefault(source.name, []), found.setdefault(marks_of(source.name), [])
        for items, now in zip(epochs, times, strict=False):
            rows += [entries(source, items, time_ns() // 1000 if now is None else now * 1000), *pause]
            told += [marks(source, items, now), *pause]
    return found


def clock_of(clock: Clock | None, epochs: int) -> list[int | None]:
    """What the clock says at each epoch, in milliseconds; None: what the machine's says."""
    if clock is None or isinstance(clock, Moment):
        times: list[Moment | None] = [clock, *[None] * (epochs - 1)]
    else:
        times = list(clock)
    if len(times) != epochs:
        raise wrong_input(f"the clock is given {len(times)} times, and there are {epochs} epochs.")
    if clock is not None and times[0] is None:
        raise wrong_input("the clock is not set in the first epoch.")
    told = [None if time is None else micros(moment(time)) // 1000 for time in times]
    for epoch in range(1, epochs):
        told[epoch] = told[epoch - 1] if told[epoch] is None else told[epoch]
    return told
