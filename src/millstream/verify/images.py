"""What a killed process leaves: a copy of its folder, taken while the process and all that it started are stopped.

A process that is killed leaves on the disk what its writes had done by then, and nothing else. So a copy taken between
two of its instructions is what it would have left if it had been killed there, and it need not die for it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 60
STOPS_WITHIN = 1.0
"""Seconds. A process that stops while it starts another one can wait for that one, which is stopped, too: it is let go
and stopped again."""
PROC = Path("/proc/self")


@contextmanager
def frozen(group: int) -> Iterator[None]:
    """Inside, no process of the group does anything."""
    until = time.monotonic() + PATIENCE
    try:
        while not stops(group):
            if time.monotonic() > until:
                raise RuntimeError("a process that was stopped goes on")
            os.killpg(group, signal.SIGCONT)
        yield
    finally:
        os.killpg(group, signal.SIGCONT)


def stops(group: int) -> bool:
    os.killpg(group, signal.SIGSTOP)
    until = time.monotonic() + STOPS_WITHIN
    while not stopped(group):
        if time.monotonic() > until:
            return False
    return True


def stopped(group: int) -> bool:
    found = threads() if PROC.exists() else processes()
    return all(state[0] in "TtZX" for number, state in found if number == group)


def threads() -> Iterator[tuple[int, str]]:
    """The process group and the state of every thread, from Linux."""
    for file in PROC.parent.glob("[0-9]*/task/[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            state, _, group = file.read_text().rpartition(")")[2].split()[:3]
            yield int(group), state


def processes() -> Iterator[tuple[int, str]]:
    """The same of every process, on other systems."""
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        number, state = line.split()
        yield int(number), state


def copy(folder: Path, to: Path) -> None:
    shutil.copytree(folder, to, symlinks=True)


def restore(image: Path, folder: Path) -> None:
    """What still writes into the folder by an open file writes into the one that is thrown away."""
    if folder.exists():
        old = Path(tempfile.mkdtemp(dir=folder.parent))
        folder.rename(old / folder.name)
        shutil.rmtree(old, ignore_errors=True)
    copy(image, folder)
