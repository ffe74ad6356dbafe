"""Takes a savepoint of a checkpoint, whether its job runs or not: of the last epoch that is committed.

Only files are read, and none of the job's tasks is involved. Meanwhile the running job may delete files that its newest
epochs no longer need: then the newest epoch is taken instead.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from millstream.errors import MillstreamError
from millstream.runtime import faults
from millstream.runtime.described import Described, read_checkpoint
from millstream.runtime.identities import read as read_identities
from millstream.runtime.savepoints.manifest import (
    MANIFEST,
    Manifest,
    SavedOutput,
    SavedSource,
    SavedTime,
    Savepoint,
    state_of,
)
from millstream.spark.state.reading import OpenedState, SavedList, opened
from millstream.storage import CheckpointFolder, Files, files_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger("millstream")
ATTEMPTS = 5
Outputs = dict[str, SavedOutput]
"""By sink."""
Watch = Callable[[OpenedState], Any]
"""Shows the progress of a savepoint; what it returns is closed at the end."""


def take(
    spark: SparkSession, checkpoint: str, path: str, outputs: Outputs | None = None, watch: Watch | None = None
) -> Savepoint:
    """Whole, or not at all."""
    about = read_checkpoint(checkpoint)
    files = files_at(path)
    to = files.resolved(path)
    refuse_taken(files, to, path)
    try:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return taken(spark, about, files, to, outputs, watch)
            except MillstreamError:
                raise
            except Exception as error:
                if attempt == ATTEMPTS or not moved_on(error):
                    raise not_saved(about, path, error) from error
                LOG.info("the job has moved on while its state was read: once more")
                files.delete_all(to)
    except BaseException:
        files.delete_all(to)
        raise
    raise AssertionError("unreachable")


def refuse_taken(files: Files, path: str, address: str) -> None:
    if files.names(path):
        raise MillstreamError(
            "MS-SAVEPOINT-005", f"there is something at {address} already.", hint="name a folder that is not there yet"
        )


class MovedOn(Exception):
    """The epoch that was to be saved is no longer the last one, and a part of it is gone."""


def moved_on(error: Exception) -> bool:
    gone = any(word in str(error) for word in ("FileNotFound", "CANNOT_LOAD_STATE_STORE", "does not exist"))
    return gone or isinstance(error, MovedOn)


def not_saved(about: Described, path: str, error: Exception) -> MillstreamError:
    """The first line of Java's message."""
    said = str(getattr(error, "java_exception", error)).splitlines()
    return MillstreamError(
        "MS-SAVEPOINT-014",
        f'the state of job "{about.job}" could not be saved at {path}.',
        found=said[0][:300] if said else type(error).__name__,
        hint="is there room on the disk? The job is as it was; what was written of the savepoint is deleted",
    )


def taken(
    spark: SparkSession, about: Described, files: Files, to: str, outputs: Outputs | None, watch: Watch | None
) -> Savepoint:
    epoch = last_epoch(about)
    saved = of_epoch(about, epoch)
    with opened(spark, about.folder, epoch, about.stages, state_of(to)) as state:
        faults.at("savepoint.opened", epoch, "")
        shown = watch(state) if watch is not None else None
        try:
            lists = state.write()
        finally:
            if shown is not None:
                shown.close()
    manifest = described(about, epoch, saved, lists, outputs)
    faults.at("savepoint.written", epoch, "")
    if not files.create(f"{to}/{MANIFEST}", manifest.json()):
        raise MillstreamError("MS-SAVEPOINT-005", f"somebody else has taken a savepoint at {to}.")
    faults.at("savepoint.done", epoch, "")
    return Savepoint(to, manifest)


def last_epoch(about: Described) -> int:
    committed = about.folder.committed()
    if not committed:
        raise MillstreamError(
            "MS-SAVEPOINT-006",
            f'job "{about.job}" has not committed an epoch yet: there is nothing to save.',
            hint="let it run for a moment",
        )
    return committed[-1]


def of_epoch(about: Described, epoch: int) -> tuple[SavedTime, dict[str, SavedSource]]:
    """Time and sources at the end of an epoch."""
    folder = about.folder
    offsets, commit = (folder.files.read(path) for path in (folder.offsets_of(epoch), folder.commit_of(epoch)))
    if offsets is None or commit is None:
        raise MovedOn
    lines = offsets.splitlines()
    logged, committed = json.loads(lines[1]), json.loads(commit.splitlines()[1])
    time = SavedTime(logged["batchWatermarkMs"], committed["nextBatchWatermarkMs"], watermarks(folder, epoch))
    found = zip(about.sources, lines[2:], strict=False)
    return time, {name: SavedSource(line, beside(folder, place)) for place, (name, line) in enumerate(found)}


def beside(folder: CheckpointFolder, place: int) -> dict[str, str]:
    """What is kept for a source: the log of the files that it has read, where a reader of a journal began."""
    where = folder.source(place)
    texts = {name: folder.files.read(f"{where}/{name}") for name in folder.files.names(where) if name[:1] != "."}
    return {name: text for name, text in texts.items() if text is not None}


def watermarks(folder: CheckpointFolder, epoch: int) -> dict[str, int]:
    """How far each source was, as the decision that the epoch counts says."""
    for name in sorted(folder.files.names(folder.decisions), reverse=True):
        text = folder.files.read(f"{folder.decisions}/{name}") if name.isdecimal() else None
        found = json.loads(text) if text else {}
        if found.get("epoch") == epoch:
            return dict(found.get("watermarks", {}))
    raise MovedOn


def described(
    about: Described,
    epoch: int,
    saved: tuple[SavedTime, dict[str, SavedSource]],
    lists: tuple[SavedList, ...],
    outputs: Outputs | None,
) -> Manifest:
    time, sources = saved
    return Manifest(
        job=about.job,
        checkpoint=about.folder.root,
        identity=about.identity,
        epoch=epoch,
        parallelism=about.parallelism,
        taken=datetime.now(UTC).isoformat(timespec="seconds"),
        time=time,
        sources=sources,
        identities=read_identities(about.folder),
        sinks=None if outputs is None else tuple(outputs),
        stages=about.stages,
        lists=lists,
        outputs=outputs or {},
    )
