"""CPU seconds of this process and all below it: Python, the JVM, and whatever they start."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    cpu: float
    wall: float


def measured(work: Callable[[], object], of: int | None = None, without: int | None = None) -> Cost:
    """What the work costs this process, or another; children included, except one."""
    cpu, wall = cpu_seconds(of, without), time.monotonic()
    work()
    return Cost(cpu_seconds(of, without) - cpu, time.monotonic() - wall)


def cpu_seconds(of: int | None = None, without: int | None = None) -> float:
    """User and system time of the process tree, with children that have ended."""
    return sum(ticks(pid) for pid in tree(of or os.getpid(), without)) / TICK


def tree(root: int, without: int | None = None) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = stat(int(entry.name))
            if fields:
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        if pid == without:
            continue
        found.append(pid)
        waiting += parents.get(pid, [])
    return found


def stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; empty if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def ticks(pid: int) -> int:
    fields = stat(pid)
    return sum(int(part) for part in fields[11:15]) if fields else 0
