"""What a checkpoint says about itself, for commands that do not have the job."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from millstream.errors import MillstreamError
from millstream.runtime.checkpoint import FORMAT, other_format
from millstream.spark.lower.state import StageShape
from millstream.storage import CheckpointFolder


@dataclass(frozen=True)
class Described:
    """A checkpoint: its job, and how each stage keeps its state."""

    folder: CheckpointFolder
    job: str
    identity: str
    parallelism: int
    sources: tuple[str, ...]
    stages: tuple[StageShape, ...]


def read_checkpoint(address: str) -> Described:
    folder = CheckpointFolder.at(address)
    text = folder.files.read(folder.about)
    if text is None:
        raise MillstreamError("MS-CHECKPOINT-009", f"there is no checkpoint at {address}.", hint="is the path right?")
    saved: dict[str, Any] = json.loads(text)
    if saved["format"] != FORMAT:
        raise other_format(address, saved["format"])
    stages = tuple(StageShape.read(stage) for stage in saved["stages"])
    return Described(folder, saved["job"], saved["identity"], saved["parallelism"], tuple(saved["sources"]), stages)
