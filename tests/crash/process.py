"""A job as its own process, to be killed, and what shows how far it has come."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from millstream.testing.faults import Fault

PATIENCE = 180
"""Seconds after which something hangs: not a measure of speed."""


class Process:
    """The job's process, with its JVM, in its own process group."""

    def __init__(self, script: Path, arguments: Sequence[str], folder: Path, fault: Fault | None = None) -> None:
        told = {"MILLSTREAM_VERBOSE": "1", **(fault.environment() if fault else {})}
        self.log = (folder / "log.txt").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, str(script), *arguments],
            env={**os.environ, **told},
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )

    def kill(self) -> None:
        if self.process.poll() is None or group_alive(self.process.pid):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()


def group_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def until(condition: Callable[[], bool], process: Process | None = None, every: float = 0.02) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if process is not None and process.process.poll() is not None:
            log = Path(process.log.name).read_text()[-3000:]
            raise AssertionError(f"the job ended with {process.process.returncode}:\n{log}")
        assert time.monotonic() < deadline, "nothing happens any more"
        time.sleep(every)


def dead(process: Process) -> bool:
    return process.process.poll() is not None or not group_alive(process.process.pid)


def committed(checkpoint: Path) -> int:
    """The last epoch that a checkpoint says is committed, or -1."""
    names = [path.name for path in (checkpoint / "spark" / "commits").glob("[0-9]*")]
    return max((int(name) for name in names if name.isdigit()), default=-1)
