"""Files that a job has read: each once, whole. Rows added to one of them later would never be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from millstream.errors import MillstreamError
from millstream.storage import CheckpointFolder


def refuse_changed(folder: CheckpointFolder, place: int) -> None:
    """An error if a file on a disk was changed after its epoch was committed. It may have been removed."""
    times = dict(read_files(folder, place))
    changed = [path for path, time in times.items() if path.exists() and path.stat().st_mtime_ns // 1_000_000 != time]
    if changed:
        raise MillstreamError(
            "MS-FILES-004",
            f"{len(changed)} of the files that the job has read were changed after that.",
            found=", ".join(str(path) for path in sorted(changed)[:3]),
            hint="put new rows into files of their own, and take the changed ones away",
        )


def read_files(folder: CheckpointFolder, place: int) -> Iterator[tuple[Path, int]]:
    """From Spark's own logs: each file with its last change at that time, in milliseconds."""
    last = committed(folder, place)
    logs = folder.files.names(folder.source(place))
    for log in sorted(log for log in logs if log.removesuffix(".compact").isdigit()):
        for entry in entries(folder.files.read(f"{folder.source(place)}/{log}") or ""):
            url = urlparse(str(entry.get("path", "")))
            if url.scheme == "file" and entry.get("batchId", last + 1) <= last:
                yield Path(unquote(url.path)), int(entry["timestamp"])


def committed(folder: CheckpointFolder, place: int) -> int:
    """How much of Spark's log of files is of committed epochs; -1: nothing."""
    epochs = folder.committed()
    if not epochs:
        return -1
    # A version and a line about the epoch, then a line for each source: a dash if it has read nothing.
    line = (folder.files.read(folder.offsets_of(epochs[-1])) or "").splitlines()[2:][place]
    return int(json.loads(line)["logOffset"]) if line.startswith("{") else -1


def entries(log: str) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in log.splitlines() if line.startswith("{"))
