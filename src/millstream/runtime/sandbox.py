"""A copy of a checkpoint in which an epoch is yet to be run: its offsets are logged, and it is not committed.

checkpoint ─▶ <sandbox>/spark/offsets/… N      the epoch's rows
              <sandbox>/spark/commits/… N-1    the state it begins with
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from dataclasses import replace
from pathlib import Path

from millstream.errors import MillstreamError
from millstream.runtime.described import Described
from millstream.spark.files import copy_to_disk
from millstream.storage import CheckpointFolder

PARTS = ("offsets", "commits", "sources", "state")
"""The parts of Spark's folder that an epoch needs."""


def begun(folder: CheckpointFolder) -> list[int]:
    """The epochs that can be run again: their offsets are logged, and the state before them is kept."""
    offsets = [int(name) for name in folder.files.names(folder.offsets) if name.isdecimal()]
    committed = set(folder.committed())
    return sorted(epoch for epoch in offsets if epoch == 0 or epoch - 1 in committed)


def refuse_unknown(about: Described, epoch: int) -> None:
    known = begun(about.folder)
    if epoch not in known:
        raise MillstreamError(
            "MS-STATE-001",
            f'epoch {epoch} of job "{about.job}" cannot be run again: it is not kept.',
            found=f"epochs {known[0]} to {known[-1]} are" if known else "no epoch is kept",
            hint="to keep more of them, run the job with checkpoints=ms.checkpoints(keep=…)",
        )


def copied(about: Described, epoch: int, place: Path) -> Described:
    """The checkpoint as it was when the epoch had begun."""
    folder = about.folder
    for part in PARTS:
        copy(folder, f"{folder.spark}/{part}", place / "spark" / part)
    for name, keep in (("offsets", epoch), ("commits", epoch - 1)):
        for file in (place / "spark" / name).glob("*"):
            if not file.name.isdecimal() or int(file.name) > keep:
                file.unlink()
    (place / "spark" / "commits").mkdir(exist_ok=True)
    # Spark does not run two queries with the same id at a time.
    (place / "spark" / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))
    (place / "millstream.json").write_text(folder.files.read(folder.about) or "")
    return replace(about, folder=CheckpointFolder.at(str(place)))


def copy(folder: CheckpointFolder, source: str, target: Path) -> None:
    """A running job may delete files meanwhile: those of epochs that are too old to be kept."""
    if folder.files.local:
        if os.path.isdir(source):
            shutil.copytree(source, target, copy_function=linked, dirs_exist_ok=True, ignore_dangling_symlinks=True)
    else:
        copy_to_disk(source, str(target))


def linked(source: str, target: str) -> None:
    """Files of a checkpoint are never changed, only replaced: a second name is a copy."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        return
    except OSError:  # of another disk
        shutil.copyfile(source, target)
