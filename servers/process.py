"""A server as its own process: started, waited for, stopped."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

PATIENCE = 120
"""Seconds after which a server will not come up any more."""


PORTS = range(15_000, 32_000)
"""Below those that systems give to outgoing connections: one of these could take a port after it was chosen, and before
the server listens there."""
CHOSEN: set[int] = set()


def free_port() -> int:
    """One that nobody uses, and that was not chosen before."""
    while True:
        port = secrets.choice(PORTS)
        if port not in CHOSEN and is_free(port):
            CHOSEN.add(port)
            return port


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class Server:
    """A started process and all that it starts; its output goes to a file in its folder."""

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


class Stoppable(Protocol):
    def stop(self) -> None: ...


S = TypeVar("S", bound=Stoppable)
T = TypeVar("T")


@contextmanager
def in_own_folder(name: str, start: Callable[[Path], S]) -> Iterator[S]:
    """What is started in its own folder; both are gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=f"millstream-{name}-"))
    try:
        started = start(folder)
        try:
            yield started
        finally:
            started.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def serve_until_stopped(running: AbstractContextManager[T], address: Callable[[T], str]) -> None:
    """Starts servers, prints how they are reached, and stops them at Ctrl-C or `kill`."""
    signals = {signal.SIGINT, signal.SIGTERM}
    # Blocked, so that they wait for `sigwait` and end no process before the servers are stopped.
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with running as started:
        print(address(started), flush=True)
        signal.sigwait(signals)


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
