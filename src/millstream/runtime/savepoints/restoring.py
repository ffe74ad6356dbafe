"""Creates a new checkpoint from a savepoint, for the same job or a changed one, at any parallelism.

mark ─▶ what was received ─▶ an epoch without input ─▶ state, offsets, commit of the saved epoch ─▶ the old checkpoint
retired ─▶ unmarked

While the mark is there, no run begins: Spark would take a half-written checkpoint for a whole one.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millstream.errors import MillstreamError
from millstream.plan.node import Node
from millstream.planner.stages import JobPlan
from millstream.runtime import faults
from millstream.runtime.checkpoint import create, fingerprint
from millstream.runtime.identities import FORMAT as IDENTITIES
from millstream.runtime.savepoints.fencing import Retirement
from millstream.runtime.savepoints.manifest import Manifest, SavedSource, SavedTime, Savepoint, damaged, read_savepoint
from millstream.runtime.savepoints.matching import Change, Choices, Fate, compared, refuse
from millstream.runtime.savepoints.ports import compared_sources
from millstream.runtime.savepoints.received import Received
from millstream.spark import jvm
from millstream.spark.lower.job import Lowered, lower_streaming
from millstream.spark.lower.state import StageShape
from millstream.spark.state.fitting import renamed
from millstream.spark.state.writing import EMPTY, Filled, fill, lay_out, targets
from millstream.storage import CheckpointFolder, for_hadoop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTHING_READ = "-"
"""What Spark's log says about a source that is read from its beginning."""


@dataclass(frozen=True)
class Restored:
    """A checkpoint that a job continues from: what happened to each operator's state, and the epoch."""

    checkpoint: str
    epoch: int
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Wanted:
    """The job that is to go on."""

    job: str
    plan: JobPlan
    checkpoint: str
    parallelism: int


def changes_of(saved: Manifest, wanted: Wanted, stages: tuple[StageShape, ...], choices: Choices) -> list[Change]:
    """What happens to everything that was saved."""
    operators = compared(saved.stages, stages, adding(wanted.plan), choices)
    return [*operators, *compared_sources(saved, wanted.plan, choices)]


def adding(plan: JobPlan) -> frozenset[str]:
    """Operators whose input only ever adds rows: they may start without state."""
    nodes = (operator for stage in plan.stages for operator in stage.operators if isinstance(operator, Node))
    return frozenset(node.name for node in nodes if all(one.append_only for one in node.inputs))


def restore(
    wanted: Wanted,
    savepoint: str,
    choices: Choices,
    spark: SparkSession,
    *,
    follow: bool = False,
    check: Callable[[], None] = lambda: None,
) -> Restored:
    """`spark`: a session with the settings of a run, and as many shuffle partitions as the job's parallelism. `follow`:
    runs that open the old checkpoint continue in the new one. `check`: called when the new one is whole, and nothing
    has been done to the old one."""
    saved = read_savepoint(savepoint)
    refuse_other_job(saved, wanted, choices)
    folder = CheckpointFolder.at(wanted.checkpoint)
    retirement = Retirement(saved, folder.root, follow)
    fences = not choices.fork and retirement.there()
    received = Received.of(wanted.plan, choices, retirement.folder)
    if fences:
        retirement.refuse_ran_on()
    elif choices.fork:
        received.refuse_fork()
    else:
        received.refuse_gone()
    token = mark(folder, wanted.checkpoint, saved)
    with ExitStack() as held:
        try:
            held.enter_context(received.taken_along(folder))
            lowered = lower_streaming(wanted.plan, spark)
            changes = changes_of(saved.manifest, wanted, lowered.shapes, choices)
            refuse(changes, savepoint)
            verify(saved)
        except Exception:
            folder.files.delete_all(folder.root)
            raise
        epoch = build(folder, wanted, saved, lowered, choices, spark)
        faults.at("restore.built", epoch, "")
        check()
        if fences:
            folder.files.replace(folder.restoring, marked(saved, token, retires=retirement.folder.root))
            retirement.retire(wanted.plan, lowered, spark)
    faults.at("restore.retired", epoch, "")
    folder.files.delete(folder.restoring)
    faults.at("restore.done", epoch, "")
    return Restored(folder.root, epoch, tuple(changes))


def refuse_other_job(saved: Savepoint, wanted: Wanted, choices: Choices) -> None:
    if saved.manifest.job != wanted.job and not choices.fork:
        raise MillstreamError(
            "MS-SAVEPOINT-010",
            f'the savepoint {saved.path} is of job "{saved.manifest.job}", not of "{wanted.job}".',
            hint="is it the right one? fork lets another job begin with it",
        )


def verify(saved: Savepoint) -> None:
    """An error if a file is missing or not what was written."""
    sha256 = jvm.named("millstream.save.SavedFile").sha256
    for one in saved.manifest.lists:
        for file in one.files:
            path = f"{saved.state}/{one.folder}/{file.name}"
            try:
                found = str(sha256(for_hadoop(path)))
            except Exception as error:
                raise damaged(saved.path, f"{path} cannot be read") from error
            if found != file.sha256:
                raise damaged(saved.path, f"{path} was changed")


def mark(folder: CheckpointFolder, address: str, saved: Savepoint) -> str:
    """Throws away what an earlier try has left, and touches nothing else. Returns the mark's token."""
    if folder.files.read(folder.restoring) is not None:
        folder.files.delete_all(folder.root)
    if folder.files.names(folder.root):
        raise MillstreamError(
            "MS-SAVEPOINT-012",
            f"the folder {address} holds something: a savepoint is restored into a new checkpoint.",
            hint="name another: checkpoint=, or --checkpoint",
        )
    token = secrets.token_hex(4)
    folder.files.create(folder.restoring, marked(saved, token))
    faults.at("restore.marked", EMPTY, "")
    return token


def marked(saved: Savepoint, token: str, retires: str | None = None) -> str:
    """`retires`: the checkpoint that is left. Once that is retired, nothing is missing of the new one."""
    return json.dumps({"format": 1, "savepoint": saved.path, "id": token, "retires": retires})


def build(
    folder: CheckpointFolder, wanted: Wanted, saved: Savepoint, lowered: Lowered, choices: Choices, spark: SparkSession
) -> int:
    """Writes all of the checkpoint; returns the epoch after which the job continues."""
    shape = fingerprint(wanted.job, wanted.plan, lowered.shapes, wanted.parallelism)
    create(folder, wanted.checkpoint, shape)
    lay_out(lowered, folder, spark)
    faults.at("restore.laid_out", EMPTY, "")
    epoch = max(saved.manifest.epoch, EMPTY + 1)
    known = known_sources(saved.manifest, choices)
    log_offsets(folder, saved.manifest.time, known, wanted.plan, epoch)
    commit = committed(folder, wanted, saved, lowered, choices, spark, epoch)
    faults.at("restore.filled", epoch, "")
    folder.files.create(folder.commit_of(epoch), commit)
    forget(folder.commits, EMPTY, folder)
    if epoch - 1 != EMPTY:
        forget(folder.offsets, EMPTY, folder)
    decide(folder, saved.manifest, epoch)
    put_sources(folder, saved.manifest, known, wanted.plan)
    return epoch


def known_sources(saved: Manifest, choices: Choices) -> dict[str, SavedSource]:
    """Those that continue from where they were."""
    return {name: source for name, source in saved.sources.items() if name not in choices.new_sources}


def committed(
    folder: CheckpointFolder,
    wanted: Wanted,
    saved: Savepoint,
    lowered: Lowered,
    choices: Choices,
    spark: SparkSession,
    epoch: int,
) -> str:
    """What Spark's log says of the epoch: the ids of the stores that hold its state, and the next watermark."""
    version = (folder.files.read(folder.commit_of(EMPTY)) or "v1").splitlines()[0]
    if not lowered.shapes:
        about: dict[str, Any] = json.loads((folder.files.read(folder.commit_of(EMPTY)) or "").splitlines()[1])
    else:
        filled = matched(saved.manifest, lowered.shapes, choices)
        about = json.loads(fill(spark, folder, saved.state, filled, epoch, wanted.parallelism))
    about["nextBatchWatermarkMs"] = saved.manifest.time.next_watermark_ms
    return f"{version}\n{json.dumps(about)}"


def matched(saved: Manifest, stages: tuple[StageShape, ...], choices: Choices) -> Iterator[Filled]:
    """Each list of the job with the one that it continues from."""
    now = {name: placed.state for stage in stages for name, placed in stage.operators.items()}
    for (operator, name), one in targets(stages).items():
        old = choices.was.get(operator, operator)
        if old in saved.operators and old not in choices.drop:
            rename = renamed(saved.operators[old].state, now[operator])
            found = saved.lists_of(old).get(rename(name))
            if found is not None and found.rows:
                yield Filled(one, found, rename)


def log_offsets(
    folder: CheckpointFolder, time: SavedTime, known: dict[str, SavedSource], plan: JobPlan, epoch: int
) -> None:
    """The offsets of the epoch, and of the one before it, which Spark reads, too."""
    lines = (folder.files.read(folder.offsets_of(EMPTY)) or "").splitlines()
    about = {**json.loads(lines[1]), "batchWatermarkMs": time.watermark_ms}
    offsets = [known[source.name].offset if source.name in known else NOTHING_READ for source in plan.sources]
    # After the sources come those without rows: ticks of the clock.
    text = "\n".join([lines[0], json.dumps(about), *offsets, *lines[2 + len(offsets) :]])
    for number in (epoch - 1, epoch):
        if number == EMPTY:
            forget(folder.offsets, EMPTY, folder)
        folder.files.create(folder.offsets_of(number), text)


def forget(log: str, epoch: int, folder: CheckpointFolder) -> None:
    """A file of Spark's logs. On a local disk, a checksum is beside it."""
    for name in (str(epoch), f".{epoch}.crc"):
        folder.files.delete(f"{log}/{name}")


def decide(folder: CheckpointFolder, saved: Manifest, epoch: int) -> None:
    """The epoch counts, and all its rows are published: by the job that was saved."""
    content = {"format": 1, "run": f"restored-{secrets.token_hex(8)}", "from": 0, "epoch": epoch}
    decision = json.dumps({**content, "watermarks": saved.time.sources})
    folder.files.create(f"{folder.decisions}/{0:012d}", decision)


def put_sources(folder: CheckpointFolder, saved: Manifest, known: dict[str, SavedSource], plan: JobPlan) -> None:
    for place, source in enumerate(plan.sources):
        for name, text in (known[source.name].files if source.name in known else {}).items():
            path = f"{folder.source(place)}/{name}"
            if not folder.files.create(path, text):
                folder.files.replace(path, text)
    identities = {name: found for name, found in saved.identities.items() if name in known}
    if identities:
        content = {"format": IDENTITIES, "sources": identities}
        folder.files.replace(folder.identities, json.dumps(content, indent=2))


__all__ = ["Change", "Choices", "Fate", "Restored", "Wanted", "changes_of", "restore"]
