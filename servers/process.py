"""A server as a process of its own: started, waited for, stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PATIENCE = 120
"""Seconds after which a server will not come any more."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """A started process and all that it starts; what it says goes to a file in its folder."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.log = folder / "server.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=folder, env=environment, start_new_session=True
            )

    def wait_until(self, answers: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"the server does not answer:\n{self.log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def descendants(pid: int) -> list[int]:
    """All that a process has started, and what these have."""
    below = children(pid)
    return [*below, *(deeper for child in below for deeper in descendants(child))]


def children(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for thread in threads for child in said(thread).split()]


def command(pid: int) -> bytes:
    """The words of its command line, each ended by a zero; nothing of a process that has ended."""
    return said(Path(f"/proc/{pid}/cmdline"))


def said(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # the process has ended
        return b""
