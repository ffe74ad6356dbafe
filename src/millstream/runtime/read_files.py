"""Files that a job has read: each once, whole. Rows that came into one of them later would never be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from millstream.errors import MillstreamError


def refuse_changed(spark: Path) -> None:
    """An error if a file on a disk was changed after its epoch was committed. Taken away it may be."""
    times = dict(read_files(spark))
    changed = [path for path, time in times.items() if path.exists() and path.stat().st_mtime_ns // 1_000_000 != time]
    if changed:
        raise MillstreamError(
            "MS-FILES-004",
            f"{len(changed)} of the files that the job has read were changed after that.",
            found=", ".join(str(path) for path in sorted(changed)[:3]),
            hint="put new rows into files of their own, and take the changed ones away",
        )


def read_files(spark: Path) -> Iterator[tuple[Path, int]]:
    """By Spark's own logs: each file with the time at which it was last changed then, in milliseconds."""
    for source, last in committed(spark).items():
        logs = (spark / "sources" / str(source)).glob("*")
        for log in sorted(log for log in logs if log.name.removesuffix(".compact").isdigit()):
            for entry in entries(log):
                url = urlparse(str(entry.get("path", "")))
                if url.scheme == "file" and entry.get("batchId", last + 1) <= last:
                    yield Path(unquote(url.path)), int(entry["timestamp"])


def committed(spark: Path) -> dict[int, int]:
    """For each source of files, by its place: how much of Spark's log of them is of committed epochs."""
    epochs = [int(path.name) for path in (spark / "commits").glob("[0-9]*") if path.name.isdigit()]
    if not epochs:
        return {}
    # A version and a line about the epoch, then a line for each source.
    lines = (spark / "offsets" / str(max(epochs))).read_text().splitlines()[2:]
    offsets = [json.loads(line) if line.startswith("{") else {} for line in lines]
    return {place: offset["logOffset"] for place, offset in enumerate(offsets) if "logOffset" in offset}


def entries(log: Path) -> Iterator[dict[str, Any]]:
    for line in log.read_text().splitlines():
        if line.startswith("{"):
            yield json.loads(line)
