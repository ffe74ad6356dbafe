"""The oracle: what a job wrote, after every epoch, against the same job as plain batch SQL over the same input.

changes ─▶ journal topics ─▶ the job, in many epochs ─▶ its sinks, summed up per epoch ─┐
                 └─▶ input up to each epoch's offsets ─▶ batch SQL, unoptimised plan ───┴─▶ must be equal
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.api.job import Job
from millstream.journal.record import Record
from millstream.journal.topics import describe
from millstream.plan.connectors import WriteMode
from millstream.plan.modes import MicroBatch, RealTime, available_now, real_time
from millstream.plan.nodes import Changes, Sink, Source
from millstream.spark.lower.job import lower_batch
from millstream.spark.memory import without_empty_epochs
from millstream.testing.changelog import Appends, Changelog, Rows, Upserts, difference, text
from millstream.testing.epochs import Ends, committed, next_watermark, published, watermark
from millstream.testing.trial import Case, Limits, Trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run

JUDGE = {
    "spark.sql.shuffle.partitions": "1",
    # Many small queries, each asked once: interpreting them is quicker than compiling them.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
FRAMES = 24
"""How many sink results Spark computes at once."""
EPOCH = "500 ms"
"""In real time. A case has little input: longer epochs would only make it wait."""
PORTIONS = 3
"""How many portions the input of each run has in real time."""
OPTIMISED = -1
"""Stands for an epoch: the last one, by the optimised plan."""


@dataclass(frozen=True)
class Report:
    """What was compared: how many epochs, and how many records of each sink."""

    epochs: int
    records: dict[str, int]


def check(case: Case, folder: Path, spark: SparkSession) -> Report:
    """Runs a case in micro-batches and compares after every epoch."""
    trial = Trial(case, folder)
    for number, limits in enumerate(trial.feed(), 1):
        last = number == trial.runs
        catch_up(trial, limits, spark, killed=case.killed and last and trial.job().plan().timed)
        refuse_unread(trial)
    return compare(trial, trial.job(), committed(trial.checkpoint), spark)


def catch_up(trial: Trial, limits: Limits, spark: SparkSession, *, killed: bool) -> Counter[str]:
    """Processes what there is, in micro-batches; how many rows were late for each step. `killed`: right after the
    commit of the last epoch that had rows, and started again."""
    late: Counter[str] = Counter()
    if killed:
        with without_empty_epochs(spark):
            late.update(late_rows(trial, limits, spark))
    last = max(committed(trial.checkpoint), default=-1)
    late.update(late_rows(trial, limits, spark))
    if killed:
        refuse_unended(trial, last)
    return late


def late_rows(trial: Trial, limits: Limits, spark: SparkSession) -> dict[str, int]:
    """One run, to its end; how many rows were late for each step."""
    run = trial.job(limits).start(available_now(), spark=spark)
    run.wait()
    return run.late()


def refuse_unended(trial: Trial, last: int) -> None:
    """After a kill behind this epoch: one more must have run if its rows moved time on, otherwise none."""
    plan = trial.job().plan()
    until = next_watermark(trial.checkpoint, last)
    moved = bool(plan.stages) and until > watermark(trial.checkpoint, last)
    more = [epoch for epoch in committed(trial.checkpoint) if epoch > last]
    assert plan.clocked or len(more) == moved, f"after epoch {last}: {more}, where time has moved on: {moved}"
    assert not moved or watermark(trial.checkpoint, more[-1]) == until, f"time stands still after epoch {last}"


def check_real_time(case: Case, folder: Path, spark: SparkSession, seconds: float = 120, every: str = EPOCH) -> Report:
    """Runs a case in real time until all input is committed, and compares after every epoch that read something. That
    the optimised plan says the same in batch is for `check` to see: it has nothing to do with the mode."""
    trial = Trial(case, folder)
    fed = trial.feed(PORTIONS)
    for _ in range(trial.runs):
        flow(trial, fed, spark, seconds, every)
        refuse_unread(trial)
    return compare(trial, trial.job(), telling(committed(trial.checkpoint)), spark, optimised=False)


def check_both_modes(case: Case, folder: Path, spark: SparkSession, *, real_time_first: bool) -> Report:
    """Runs a case in micro-batches and in real time in turn, from one checkpoint, and compares after every epoch; of
    those in real time, after every one that read something."""
    trial = Trial(case, folder)
    fed = trial.feed(PORTIONS)
    judged: dict[int, list[Ends]] = {}
    for number in range(trial.runs):
        before = committed(trial.checkpoint)
        flows = real_time_first == (number % 2 == 0)
        if flows:
            flow(trial, fed, spark)
        else:
            limits = [next(fed) for _ in range(PORTIONS)][-1]
            catch_up(trial, limits, spark, killed=case.killed and trial.job().plan().timed)
        refuse_unread(trial)
        after = committed(trial.checkpoint)
        judged |= {epoch: ends for epoch, ends in (telling(after) if flows else after).items() if epoch not in before}
    return compare(trial, trial.job(), judged, spark)


def flow(trial: Trial, fed: Iterator[Limits], spark: SparkSession, seconds: float = 120, every: str = EPOCH) -> None:
    """One run in real time, until all input is committed. The input comes in portions while it runs."""
    next(fed)
    run = trial.job().start(real_time(every), spark=spark)
    try:
        for _ in range(PORTIONS - 1):
            wait_for(run, lambda: caught_up(trial), seconds)
            next(fed)
    except BaseException:
        run.stop()
        raise
    work_off(run, lambda: caught_up(trial), seconds)


def telling(epochs: dict[int, list[Ends]]) -> dict[int, list[Ends]]:
    """Those that read something, and the last."""
    return {epoch: ends for epoch, ends in epochs.items() if epoch == max(epochs) or ends != epochs.get(epoch - 1)}


def check_closing(
    trial: Trial,
    fed: Iterable[Limits],
    modes: Sequence[MicroBatch | RealTime],
    spark: SparkSession,
    *,
    late: Set[int] = frozenset({0}),
    killed: bool = False,
) -> Report:
    """Runs a trial whose last rows move time beyond everything, a part of the input after the other, in these modes in
    turn, and compares once. `late`: how many rows may be late for a step. `killed`: after every part but the first,
    when its last rows are committed, and started again."""
    found: Counter[str] = Counter()
    for number, (limits, mode) in enumerate(zip(fed, cycle(modes), strict=False)):
        if isinstance(mode, RealTime):
            found.update(settle(trial, mode, spark, killed=killed and number > 0))
        else:
            found.update(catch_up(trial, limits, spark, killed=killed and number > 0))
        refuse_unread(trial)
    report = compare_last(trial, spark)
    assert set(found.values()) <= late, f"rows are late: {dict(found)}"
    return report


def settle(trial: Trial, mode: RealTime, spark: SparkSession, *, killed: bool) -> Counter[str]:
    """Processes what there is, in real time, until time has passed it; how many rows were late for each
    step. `killed`: when the last rows are committed, and started again."""
    late: Counter[str] = Counter()
    for done in (*[caught_up] * killed, lambda trial: caught_up(trial) and settled(trial)):
        run = trial.job().start(mode, spark=spark)
        work_off(run, partial(done, trial))
        late.update(run.late())
    return late


def work_off(run: Run, done: Callable[[], bool], seconds: float = 120) -> None:
    """Waits until the run ends, or has done its work: in real time it has no end."""
    try:
        wait_for(run, done, seconds)
    finally:
        run.stop()


def wait_for(run: Run, done: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not run.poll(0.1) and not done() and time.monotonic() < until:
        pass


def caught_up(trial: Trial) -> bool:
    """Whether the last committed epoch ends where the input ends."""
    epochs = committed(trial.checkpoint)
    return bool(epochs) and epochs[max(epochs)] == [whole(trial, topic) for topic in trial.topics]


def settled(trial: Trial) -> bool:
    """Whether two more epochs have passed since all was read: the watermark moves between epochs."""
    epochs = committed(trial.checkpoint)
    last = epochs[max(epochs)]
    return sum(ends == last for ends in epochs.values()) > 2


def whole(trial: Trial, topic: str) -> Ends:
    return {part.partition: part.end for part in describe(trial.journal, topic).partitions}


def refuse_unread(trial: Trial) -> None:
    if not caught_up(trial):
        last = list(committed(trial.checkpoint).items())[-1:]
        raise AssertionError(f"the job did not read all of its input; seed {trial.case.seed}, last epoch {last}")


def compare_last(trial: Trial, spark: SparkSession, optimised: bool = True) -> Report:
    """After the last epoch alone."""
    epochs = committed(trial.checkpoint)
    return compare(trial, trial.job(), {max(epochs): epochs[max(epochs)]}, spark, optimised)


def compare(
    trial: Trial, job: Job, epochs: dict[int, list[Ends]], spark: SparkSession, optimised: bool = True
) -> Report:
    """Every epoch, every sink: what is there, against what batch SQL says. `optimised`: of the optimised plan, too."""
    records = {sink.name: published(trial.journal, sink.options.label) for sink in job._sinks}
    found = {sink.name: written(sink, records[sink.name], max(epochs)) for sink in job._sinks}
    expected = results(job, epochs, spark, optimised)
    if optimised:
        refuse_other_batch(trial, job, expected[max(epochs)], expected[OPTIMISED])
    for epoch in epochs:
        for sink in job._sinks:
            lines = difference(expected[epoch][sink.name], found[sink.name][epoch])
            if lines:
                told = (
                    f'job "{job.name}", sink "{sink.name}" ({sink.mode}) is wrong after epoch {epoch} of '
                    f"{max(epochs)}; seed {trial.case.seed}, input up to {epochs[epoch]}"
                )
                raise AssertionError("\n".join([told, *lines, job.explain()]))
    return Report(len(epochs), {name: sum(map(len, parts.values())) for name, parts in records.items()})


def refuse_other_batch(trial: Trial, job: Job, own: dict[str, Rows], optimised: dict[str, Rows]) -> None:
    """What `job.run(ms.batch())` runs, the optimised plan, must say what the user's own plan says."""
    for sink in job._sinks:
        lines = difference(own[sink.name], optimised[sink.name])
        if lines:
            told = f'job "{job.name}", sink "{sink.name}": the optimised plan is wrong in batch; seed {trial.case.seed}'
            raise AssertionError("\n".join([told, *lines, job.explain()]))


def written(sink: Sink, records: Mapping[int, list[Record]], last: int) -> dict[int, Rows]:
    """The rows of a sink after each epoch."""
    sums: dict[str, Appends | Changelog | Upserts] = {
        "append": Appends(),
        "changelog": Changelog(),
        "upsert": Upserts(),
    }
    total = sums[kind(sink)]
    found: dict[int, Rows] = {}
    for epoch in range(last + 1):
        total.read(records.get(epoch, []))
        found[epoch] = Counter(total.rows)
    return found


def results(
    job: Job, epochs: dict[int, list[Ends]], spark: SparkSession, optimised: bool
) -> dict[int, dict[str, Rows]]:
    """What batch SQL gives for every sink after every epoch, many epochs in one Spark job; and, if asked, what it gives
    for the optimised plan after the last."""
    own = spark.newSession()
    for name, setting in JUDGE.items():
        own.conf.set(name, setting)
    # The user's own plan, not the optimised one: the rules are judged, too.
    plan = job.plan()
    listed = [(epoch, epoch, replace(plan, sinks=job._sinks)) for epoch in epochs]
    listed += [(OPTIMISED, max(epochs), plan)] if optimised else []
    found: dict[int, dict[str, Rows]] = {label: {sink.name: Counter() for sink in job._sinks} for label, _, _ in listed}
    at_once = max(1, FRAMES // len(job._sinks))
    for start in range(0, len(listed), at_once):
        frames = []
        for label, epoch, plan in listed[start : start + at_once]:
            names = [source.name for source in plan.sources]
            ends = dict(zip(names, epochs[epoch], strict=True))
            now = watermark(job.checkpoint, epoch)
            rows = lower_batch(plan, own, lambda source, ends=ends: ending(source, ends), now)  # type: ignore[misc]
            frames.append(rows.frame.selectExpr(f"{label} AS epoch", "sink", "value", "w"))
        for row in reduce(lambda one, other: one.unionAll(other), frames).collect():
            sink = job._sinks[row["sink"]]
            found[row["epoch"]][sink.name][text(value(sink, row["value"]))] += row["w"]
    return found


def ending(source: Source, ends: Mapping[str, Ends]) -> str:
    read = ends[source.name]
    return json.dumps({str(n): read.get(n, 0) for n in range(source.options.partitions())})


def value(sink: Sink, data: bytearray) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(bytes(data))
    if kind(sink) == "changelog":
        del row["op"]
    return row


def kind(sink: Sink) -> WriteMode:
    """Changes as facts are a changelog: what they sum up to is the table."""
    return "changelog" if isinstance(sink.input, Changes) and sink.input.op == "op" else sink.mode
