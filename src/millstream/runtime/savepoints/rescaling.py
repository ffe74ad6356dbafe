"""Another parallelism for a job that is not running: its state is saved, and restored into a new checkpoint.

The old checkpoint says where the job has continued, so that it is found under its old address.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.errors import MillstreamError
from millstream.planner.stages import JobPlan
from millstream.runtime.described import read_checkpoint
from millstream.runtime.savepoints.manifest import Savepoint
from millstream.runtime.savepoints.matching import Choices
from millstream.runtime.savepoints.ports import outputs_of
from millstream.runtime.savepoints.restoring import Wanted, restore
from millstream.runtime.savepoints.taking import last_epoch, take
from millstream.spark.state.reading import SavedList, Share, opened
from millstream.storage import files_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class ListCompared:
    """A list of state before and after: how many rows, and a fingerprint that does not depend on their order."""

    operator: str
    name: str
    rows: int
    before: str
    after: str

    @property
    def same(self) -> bool:
        return self.before == self.after


@dataclass(frozen=True)
class Moved:
    """Bytes of the savepoint that were rewritten: all of it. `least`: how much of it had to change tasks to give them
    equal shares. `seconds`: how long the job was down because of it."""

    bytes: int
    least: int
    seconds: float


@dataclass(frozen=True)
class Rescaled:
    """`checkpoint`: where the job goes on. `lists`: all of its state, compared. `shares`: of each stage, counted from
    the sources, how many entries of state each task has now."""

    checkpoint: str
    parallelism: int
    lists: tuple[ListCompared, ...]
    shares: tuple[tuple[int, ...], ...]
    moved: Moved


def rescaled(job: str, plan: JobPlan, checkpoint: str, parallelism: int, spark: SparkSession) -> Rescaled:
    refuse_parallelism(parallelism)
    begun = time.monotonic()
    about = read_checkpoint(checkpoint)
    # The same name for a second try, which throws away what a killed one has left.
    to = f"{about.folder.root}-parallelism-{parallelism}"
    saved_at = f"{to}.savepoint"
    files_at(saved_at).delete_all(saved_at)
    saved = take(spark, checkpoint, saved_at, outputs_of(plan))
    try:
        spark.conf.set("spark.sql.shuffle.partitions", str(parallelism))
        wanted = Wanted(job, plan, to, parallelism)
        found: list[tuple[list[ListCompared], tuple[Share, ...]]] = []
        restore(wanted, saved.path, Choices(), spark, follow=True, check=lambda: found.append(check(spark, saved, to)))
        size = size_of(saved)
    finally:
        files_at(saved_at).delete_all(saved_at)
    ((lists, shares),) = found
    least = round(size * (1 - min(parallelism, about.parallelism) / max(parallelism, about.parallelism)))
    moved = Moved(size, least, time.monotonic() - begun)
    return Rescaled(to, parallelism, tuple(lists), by_stage(shares, len(about.stages)), moved)


def by_stage(shares: tuple[Share, ...], stages: int) -> tuple[tuple[int, ...], ...]:
    ordered = sorted(shares, key=lambda one: one.task)
    return tuple(tuple(one.rows for one in ordered if one.stage == stages - 1 - number) for number in range(stages))


def size_of(saved: Savepoint) -> int:
    files = files_at(saved.path)
    folders = (f"{saved.state}/{one.folder}" for one in saved.manifest.lists)
    return sum(entry.size or 0 for folder in folders for entry in files.entries(folder))


def check(spark: SparkSession, saved: Savepoint, to: str) -> tuple[list[ListCompared], tuple[Share, ...]]:
    """All that was saved is there; and how much of it each task has."""
    lists, shares = fingerprints(spark, to, saved.path)
    return compared(saved.manifest.lists, lists), shares


def refuse_parallelism(parallelism: int) -> None:
    if parallelism < 1:
        raise MillstreamError("MS-PLAN-008", f"a job cannot run with parallelism {parallelism}.", hint="1 or more")


def fingerprints(spark: SparkSession, checkpoint: str, beside: str) -> tuple[tuple[SavedList, ...], tuple[Share, ...]]:
    """Of all state that a checkpoint has: it is written, and thrown away."""
    about = read_checkpoint(checkpoint)
    with opened(spark, about.folder, last_epoch(about), about.stages, f"{beside}/after") as state:
        return state.write(), state.shares()


def compared(before: tuple[SavedList, ...], after: tuple[SavedList, ...]) -> list[ListCompared]:
    now = {(one.operator, one.name): one for one in after}
    lists = []
    for one in before:
        found = now.get((one.operator, one.name))
        lists.append(
            ListCompared(one.operator, one.name, one.rows, one.fingerprint, found.fingerprint if found else "")
        )
    wrong = [one for one in lists if not one.same]
    if wrong:
        raise MillstreamError(
            "MS-SAVEPOINT-013",
            f'state of step "{wrong[0].operator}" is not what it was before it was divided again.',
            found=", ".join(f"{one.operator}/{one.name}" for one in wrong),
            hint="the job goes on in its old checkpoint, as it was",
        )
    return lists
