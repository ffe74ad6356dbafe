"""The history of a checkpoint's last epochs: when they were saved, how long it took, and how large they are."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from millstream.errors import MillstreamError
from millstream.runtime.described import read_checkpoint
from millstream.spark.lower.state import StageShape
from millstream.storage import CheckpointFolder

FORMAT = 1
Stages = tuple[StageShape, ...]
CHANGES = re.compile(r"(\d+)_([0-9a-f-]+)\.(changelog|zip)")


@dataclass(frozen=True)
class TaskRecord:
    """A task's part in a checkpoint. Times are in milliseconds.

    `operators`: whose state it keeps. `align_ms`: how long the barrier took to arrive from all senders; None where no
    barriers flow. `save_ms`: how long the task paused to save. `sync_ms`: how long it took in the background until all
    was durable. `bytes`: what changed.
    """

    stage: int
    task: int
    operators: tuple[str, ...]
    align_ms: int | None
    save_ms: int | None
    sync_ms: int | None
    bytes: int | None


@dataclass(frozen=True)
class CheckpointRecord:
    """The checkpoint of one epoch.

    `bytes`: what its tasks saved of state. `snapshot_bytes`: whole copies of state that were made as well. Both are
    None if it is no longer kept. `run`: the start of the job that made it.
    """

    epoch: int
    at: datetime
    mode: str
    run: str
    duration_ms: int
    phases_ms: dict[str, int]
    tasks: tuple[TaskRecord, ...]
    bytes: int | None
    snapshot_bytes: int | None
    retained: bool

    @property
    def align_ms(self) -> int | None:
        """The longest of its tasks."""
        return max((task.align_ms for task in self.tasks if task.align_ms is not None), default=None)


@dataclass(frozen=True)
class FailedCheckpoint:
    """An attempt at a checkpoint that failed, and why."""

    epoch: int
    at: datetime
    run: str
    reason: str


@dataclass(frozen=True)
class Sizes:
    """By stage, task and epoch."""

    changes: dict[tuple[int, int, int], int]
    snapshots: dict[tuple[int, int, int], int]

    def changed(self, epoch: int) -> int:
        return sum(size for (_, _, saved), size in self.changes.items() if saved == epoch)

    def copied(self, epoch: int) -> int:
        return sum(size for (_, _, saved), size in self.snapshots.items() if saved == epoch)


def history(folder: CheckpointFolder) -> list[CheckpointRecord]:
    """Oldest first."""
    stages, retained = read_checkpoint(folder.root).stages, set(folder.committed())
    sizes = sizes_of(folder, len(stages), retained)
    return [record(one, stages, sizes, one["epoch"] in retained) for one in read(folder)["epochs"]]


def failures(folder: CheckpointFolder) -> list[FailedCheckpoint]:
    return [
        FailedCheckpoint(one["epoch"], moment(one["at_ms"]), one["run"], one["reason"])
        for one in read(folder)["failures"]
    ]


def read(folder: CheckpointFolder) -> dict[str, Any]:
    text = folder.files.read(folder.history)
    found: dict[str, Any] = json.loads(text) if text else {"format": FORMAT, "epochs": [], "failures": []}
    if found["format"] != FORMAT:
        raise MillstreamError(
            "MS-CHECKPOINT-004",
            f"the history of {folder.root} has format {found['format']}, not {FORMAT}.",
            hint="use the version of Millstream that wrote it",
        )
    return found


def record(noted: dict[str, Any], stages: Stages, sizes: Sizes, retained: bool) -> CheckpointRecord:
    epoch = noted["epoch"]
    tasks = (task(one, epoch, stages, sizes) for one in noted.get("tasks", []))
    return CheckpointRecord(
        epoch,
        moment(noted["at_ms"]),
        noted["mode"],
        noted["run"],
        noted["duration_ms"],
        noted["phases_ms"],
        tuple(sorted(tasks, key=lambda one: (one.stage, one.task))),
        sizes.changed(epoch) if retained else None,
        sizes.copied(epoch) if retained else None,
        retained,
    )


def task(noted: dict[str, Any], epoch: int, stages: Stages, sizes: Sizes) -> TaskRecord:
    stage, number = noted["stage"], noted["task"]
    times = (noted["align_ms"], noted["save_ms"], noted["sync_ms"])
    return TaskRecord(stage, number, tuple(stages[stage].operators), *times, sizes.changes.get((stage, number, epoch)))


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def sizes_of(folder: CheckpointFolder, stages: int, epochs: set[int]) -> Sizes:
    """Of all files of state that committed epochs saved: an epoch that was repeated left others."""
    found = Sizes({}, {})
    counted = {epoch: ids_of(folder, epoch) for epoch in epochs}
    for stage in range(stages):
        at = folder.state(stage, stages)
        for number in (int(name) for name in folder.files.names(at) if name.isdecimal()):
            for entry in folder.files.entries(f"{at}/{number}"):
                named = CHANGES.fullmatch(entry.name)
                if named is None or named.group(2) not in counted.get(int(named.group(1)) - 1, ()):
                    continue
                size = entry.size if entry.size is not None else size_of(folder, f"{at}/{number}/{entry.name}")
                kind = found.changes if named.group(3) == "changelog" else found.snapshots
                kind[(stage, number, int(named.group(1)) - 1)] = size
    return found


def ids_of(folder: CheckpointFolder, epoch: int) -> set[str]:
    """The names by which Spark tells the state of a committed epoch from that of an attempt at it."""
    lines = (folder.files.read(folder.commit_of(epoch)) or "").splitlines()
    told = json.loads(lines[1]).get("stateUniqueIds") or {} if len(lines) > 1 else {}
    return {unique for tasks in told.values() for ids in tasks for unique in ids}


def size_of(folder: CheckpointFolder, path: str) -> int:
    try:
        file = folder.files.open(path)
    except FileNotFoundError:  # Spark has deleted it meanwhile
        return 0
    try:
        return file.size()
    finally:
        file.close()
