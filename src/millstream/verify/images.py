"""What a killed process leaves: a copy of its folder, taken while the process and all that it started stand still.

A process that is killed leaves on the disk what its writes had done by then, and nothing else. So a copy that is taken
between two of its instructions is what it would have left had it been killed there, and it need not die for it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 30


@contextmanager
def frozen(group: int) -> Iterator[None]:
    """Inside, no process of the group does anything."""
    os.killpg(group, signal.SIGSTOP)
    try:
        until = time.monotonic() + PATIENCE
        while not stopped(group):
            if time.monotonic() > until:
                raise TimeoutError("a process that was stopped goes on")
        yield
    finally:
        os.killpg(group, signal.SIGCONT)


def stopped(group: int) -> bool:
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    states = [state for number, state in map(str.split, listed.splitlines()) if int(number) == group]
    return all(state[0] in "TtZ" for state in states)


def copy(folder: Path, to: Path) -> None:
    shutil.copytree(folder, to, symlinks=True)


def restore(image: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    copy(image, folder)
