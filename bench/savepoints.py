"""What a savepoint of many keys costs: taken, restored, divided again; beside an ordinary checkpoint, and beside Flink.

The job keeps two figures for each key in one step, and its largest value in another. CPU seconds are those of Python
and the JVM together, and of Flink's JVM.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

import millstream as ms
from bench.measure import Cost, measured
from bench.nexmark.flink import Missing
from bench.savepoints_flink import Theirs
from millstream import journal
from millstream.runtime.run import Run

CHANGED = 10_000
"""Rows of an ordinary epoch, which changes as many keys."""
FEW = 100
"""Enough rows to reach all tasks."""


@dataclass(frozen=True)
class Costs:
    """In CPU seconds. `checkpoint`: of an epoch that changes 10,000 keys. `restore`: at another parallelism."""

    checkpoint: float
    savepoint: float
    restore: float
    rescale: float
    recovery: float

    @property
    def total(self) -> float:
        return self.checkpoint + self.savepoint + self.restore + self.rescale


class Many:
    def __init__(self, folder: Path, keys: int) -> None:
        self.folder, self.keys = folder, keys
        self.path = str(folder / "journal")
        for topic, partitions in (("rows", 2), ("few_sums", 1), ("few_most", 1)):
            journal.create(self.path, topic, partitions)

    def feed(self, keys: range) -> None:
        with journal.producer(self.path, "rows", durable=False) as producer:
            for key in keys:
                producer.send(b'{"k": %d, "v": %d}' % (key, key % 1000))

    def job(self, checkpoint: str, parallelism: int) -> ms.Job:
        """It writes few rows: sinks are not measured here."""
        job = ms.Job("many", checkpoint=str(self.folder / checkpoint), parallelism=parallelism)
        rows = job.stream(journal.source("rows", path=self.path), "k BIGINT, v BIGINT")
        sums = rows.group_by("k").agg(n="count(*)", s="sum(v)").named("sums")
        most = rows.group_by(j="k * 7").agg(most="max(v)").named("most")
        sums.where("k < 0").to(journal.sink("few_sums", path=self.path, changelog=True))
        most.where("j < 0").to(journal.sink("few_most", path=self.path, changelog=True))
        return job


def show(what: str, cost: Cost) -> float:
    click.echo(f"  {what:<42} {cost.cpu:8.1f} CPU s {cost.wall:8.1f} s")
    return cost.cpu


def size(folder: Path) -> str:
    return f"{sum(file.stat().st_size for file in folder.rglob('*') if file.is_file()) / 1e6:.1f} MB"


def run(keys: int, parallelism: int, *, flink: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="millstream-savepoints-") as folder:
        ours = measure(Many(Path(folder), keys), parallelism)
    theirs = beside(keys, parallelism) if flink else None
    told = (
        f"{keys} keys: checkpoint {ours.checkpoint:.1f}, savepoint {ours.savepoint:.1f}, restore {ours.restore:.1f}, "
    )
    told += f"rescale {ours.rescale:.1f} CPU s"
    click.echo(told + (f", {ours.total / theirs.total:.2f} of flink" if theirs else ""))


def measure(many: Many, parallelism: int) -> Costs:
    click.echo(f"millstream, {many.keys} keys in two steps, parallelism {parallelism}")
    many.feed(range(many.keys))
    show("all rows are read", measured(lambda: many.job("cp", parallelism).run(ms.available_now())))
    running = begun(many, "cp", parallelism)
    checkpoint = show("checkpoint: 10,000 keys change", measured(lambda: change(many, running)))
    saved = str(many.folder / "saved")
    savepoint = show("savepoint, while it runs", measured(lambda: running.savepoint(saved)))
    running.stop()
    click.echo(f"  the savepoint has {size(Path(saved))}")
    restored = many.job("next", parallelism + 1)
    restore = show(f"restore at {parallelism + 1}", measured(lambda: restored.restore(saved)))
    started: list[Run] = []
    recovery = show(
        "its start, until state is loaded", measured(lambda: started.append(begun(many, "next", parallelism + 1)))
    )
    (running,) = started
    rescale = show(f"rescale {parallelism + 1} -> {parallelism}", measured(lambda: running.rescale(parallelism)))
    running.stop()
    return Costs(checkpoint, savepoint, restore, rescale, recovery)


def begun(many: Many, checkpoint: str, parallelism: int) -> Run:
    """Runs, with all state loaded: it has processed an epoch."""
    run = many.job(checkpoint, parallelism).start(ms.micro_batch("100 ms"))
    many.feed(range(FEW))
    while run.progress() is None or run.busy:
        run.poll(0.05)
    return run


def change(many: Many, run: Run) -> None:
    """Until the rows are in a checkpoint."""
    before = last(run)
    many.feed(range(0, many.keys, max(1, many.keys // CHANGED)))
    while last(run) == before or run.busy:
        run.poll(0.05)


def last(run: Run) -> int:
    progress = run.progress()
    return -1 if progress is None else progress.epoch


def beside(keys: int, parallelism: int) -> Costs | None:
    try:
        with (
            tempfile.TemporaryDirectory(prefix="flink-savepoints-") as folder,
            Theirs(Path(folder), parallelism) as theirs,
        ):
            return measure_theirs(theirs, keys, parallelism)
    except Missing as missing:
        click.echo(f"without Flink: {missing}")
        return None


def measure_theirs(theirs: Theirs, keys: int, parallelism: int) -> Costs:
    click.echo(f"flink, {keys} keys in two steps, parallelism {parallelism}, RocksDB, incremental checkpoints")
    theirs.feed("all", range(keys))
    show("all rows are read", theirs.measured(lambda: theirs.start(parallelism, keys)))
    theirs.checkpoint()
    step = max(1, keys // CHANGED)
    changed = len(range(0, keys, step))
    checkpoint = show(
        "checkpoint: 10,000 keys change",
        theirs.measured(lambda: theirs.change("some", range(0, keys, step), keys + changed)),
    )
    found: list[str] = []
    savepoint = show("savepoint, canonical, while it runs", theirs.measured(lambda: found.append(theirs.savepoint())))
    click.echo(f"  the savepoint has {size(Path(found[0]))}")
    retained = theirs.checkpoint()
    theirs.stop()
    recovery = show("recovery from the checkpoint", theirs.measured(lambda: theirs.go_on(parallelism, retained)))
    theirs.stop()
    restore = show(f"restore at {parallelism + 1}", theirs.measured(lambda: theirs.go_on(parallelism + 1, found[0])))
    rescale = show(f"rescale {parallelism + 1} -> {parallelism}", theirs.measured(lambda: theirs.rescale(parallelism)))
    theirs.stop()
    return Costs(checkpoint, savepoint, restore, rescale, recovery)
