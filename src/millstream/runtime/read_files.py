"""Files that a job has read: each once, whole. Rows that came into one of them later would never be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

from millstream.errors import MillstreamError


def refuse_changed(spark: Path) -> None:
    """An error if a file on a disk was changed after it was read. That it was taken away is all right."""
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
    logs = (spark / "sources").glob("*/*")
    for log in sorted(log for log in logs if log.name.removesuffix(".compact").isdigit()):
        for line in log.read_text(errors="replace").splitlines():
            entry = json.loads(line) if line.startswith("{") else {}
            url = urlparse(str(entry.get("path", "")))
            if url.scheme == "file" and "timestamp" in entry:
                yield Path(unquote(url.path)), int(entry["timestamp"])
