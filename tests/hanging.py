"""What a test that hangs is waiting for: the stacks of the Java processes that it and its worker have started.

pytest-timeout ends such a test and shows where Python stands; most often it only waits for Java.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

SOONER = 20
"""Seconds before the test is ended: it takes a while to ask all processes."""


@contextmanager
def shown(limit: float) -> Iterator[None]:
    """Writes the stacks to stderr, which pytest keeps for the report, if the test lasts almost as long as it may."""
    timer = Timer(limit - SOONER, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def show() -> None:
    for pid in javas():
        found = subprocess.run(["jstack", str(pid)], capture_output=True, text=True, timeout=SOONER)
        print(f"\n~~~ Java process {pid}\n{found.stdout}{found.stderr}", file=sys.stderr)


def javas() -> list[int]:
    """Java processes below this one."""
    parents: dict[int, int] = {}
    java: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().partition(" (")[2].rpartition(") ")
        except OSError:
            continue  # it has just ended
        parents[int(folder.name)] = int(rest.split()[1])
        if name == "java":
            java.add(int(folder.name))
    return [pid for pid in sorted(java) if below(pid, parents)]


def below(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == os.getpid():
            return True
    return False
