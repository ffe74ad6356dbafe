"""A checkpoint whose newest epoch is damaged: found when a job starts, and made good where exactly once still holds.

    epochs     5        6        7 (newest, a file of its state is damaged; its rows are published)
               good ──▶ run again ──▶ run again       in a sandbox; what they write is published already
                                      ╰─▶ its state takes the place of what is damaged

Offsets and sinks stay as they are. The new state is put beside the old one, then the commits name it, one after the
other: a crash in between leaves an earlier epoch to begin from.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from millstream.errors import MillstreamError
from millstream.plan.lookup import Lookup
from millstream.plan.node import walk
from millstream.plan.python import Call, Process
from millstream.planner.stages import JobPlan
from millstream.runtime.again import muted, run_again
from millstream.runtime.described import Described
from millstream.runtime.history import ids_of, read
from millstream.runtime.sandbox import copied
from millstream.spark import jvm
from millstream.spark.files import copy_from_disk
from millstream.storage import CheckpointFolder, for_hadoop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.plan.connectors import Jars

LOG = logging.getLogger("millstream")
STATE = re.compile(r"(\d+)_([0-9a-f-]+)\.(changelog|zip)(\.crc)?")
ELSE = "restore a savepoint or a copy of the checkpoint, or use a new checkpoint folder, which begins from the start"


def damage(folder: CheckpointFolder, epoch: int) -> str | None:
    """What is wrong with a committed epoch; None: nothing."""
    first = folder.committed()[0]
    found = jvm.named("millstream.checkpoint.Damage").of(for_hadoop(folder.spark), epoch, first)
    return None if found is None else str(found)


def make_good(about: Described, plan: JobPlan, spark: SparkSession, jars: tuple[Jars, ...]) -> str | None:
    """Looks at the newest epoch, and computes its state again if that is damaged; what there is to report, or None."""
    epochs = about.folder.committed()
    wrong = damage(about.folder, epochs[-1]) if epochs else None
    if wrong is None:
        return None
    good = next((epoch for epoch in reversed(epochs[:-1]) if damage(about.folder, epoch) is None), None)
    refuse(about, plan, good, epochs[-1], wrong)
    assert good is not None
    LOG.warning('job "%s": %s; state is computed again from epoch %d', about.job, wrong, good)
    with TemporaryDirectory(prefix="millstream-recovery-", ignore_cleanup_errors=True) as place:
        run_from(about, plan, good, epochs[-1], Path(place), spark, jars)
    return f"{wrong}; its state was computed again from epoch {good}"


def refuse(about: Described, plan: JobPlan, good: int | None, last: int, wrong: str) -> None:
    """Why the epochs since might give other results: theirs are published, and cannot be taken back."""
    if good is None:
        raise damaged(about, last, wrong, "no earlier epoch that is kept is whole")
    offsets = set(about.folder.files.names(about.folder.offsets))
    missing = [epoch for epoch in range(good + 1, last + 1) if str(epoch) not in offsets]
    if missing or "offsets" in wrong.split("/"):
        raise damaged(about, last, wrong, "which rows it read is not known any more")
    code = next((node for node in walk(plan.flow) if isinstance(node, Process | Call | Lookup)), None)
    if code is not None:
        raise damaged(about, last, wrong, f'step "{code.name}" might give other results for the same rows')
    if plan.statics:
        raise damaged(about, last, wrong, f'source "{plan.statics[0].name}" may have other rows by now')
    modes = {one["epoch"]: one["mode"] for one in read(about.folder)["epochs"]}
    loose = [epoch for epoch in range(good + 1, last + 1) if modes.get(epoch) != "micro-batch"]
    if loose and plan.timed:
        raise damaged(about, last, wrong, f"when rows came within epoch {loose[0]}, in real time, is not known")


def damaged(about: Described, last: int, wrong: str, why: str) -> MillstreamError:
    return MillstreamError(
        "MS-CHECKPOINT-013",
        f'the newest epoch of job "{about.job}", {last}, is damaged and cannot be computed again: {why}.',
        found=wrong,
        hint=ELSE,
    )


def run_from(
    about: Described, plan: JobPlan, good: int, last: int, place: Path, spark: SparkSession, jars: tuple[Jars, ...]
) -> None:
    """Runs all epochs after the good one, one by one, in a sandbox; then puts their state where it belongs."""
    sandbox = copied(about, good + 1, place)
    remove_state(place, good)
    for epoch in range(good + 1, last + 1):
        offsets = about.folder.files.read(about.folder.offsets_of(epoch)) or ""
        (place / "spark" / "offsets" / str(epoch)).write_text(offsets)
        run_again(muted(plan.flow), sandbox, spark, jars)
    for epoch in range(good + 1, last + 1):
        put_state(about.folder, sandbox.folder, place, epoch)
    for epoch in range(good + 1, last + 1):
        commit = sandbox.folder.files.read(sandbox.folder.commit_of(epoch))
        assert commit is not None
        about.folder.files.replace(about.folder.commit_of(epoch), commit)


def remove_state(place: Path, good: int) -> None:
    """What is damaged, or follows from it."""
    for file in place.glob("spark/state/*/*/*"):
        named = STATE.fullmatch(file.name)
        if named is not None and int(named.group(1)) > good + 1:
            file.unlink()


def put_state(folder: CheckpointFolder, sandbox: CheckpointFolder, place: Path, epoch: int) -> None:
    """Under new names: nothing is replaced."""
    ids = ids_of(sandbox, epoch)
    for file in place.glob("spark/state/*/*/**/*"):
        named = STATE.fullmatch(file.name)
        new = (named is not None and named.group(2) in ids) or file.suffix == ".sst"
        target = f"{folder.spark}/{file.relative_to(place / 'spark').as_posix()}"
        if new and file.is_file():
            copy_from_disk(str(file), target)
