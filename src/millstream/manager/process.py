"""Processes of this machine, known by their number and when they started: a number alone is given again."""

from __future__ import annotations

import functools
import os
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Process:
    """The process that has claimed a run."""

    pid: int
    started: int
    """In clock ticks since the machine's own start."""
    host: str
    boot: str
    """Of which start of the machine."""

    @classmethod
    def read(cls, claim: dict[str, Any]) -> Process | None:
        """None: the claim is nobody's; the run was given up before a driver came."""
        return cls(**claim) if "pid" in claim else None

    @property
    def here(self) -> bool:
        return self.host == socket.gethostname() and self.boot == boot_id()

    def alive(self) -> bool | None:
        """None: it is on another machine."""
        if self.host != socket.gethostname():
            return None
        return self.boot == boot_id() and start_time(self.pid) == self.started

    def kill(self) -> None:
        """It and all that it has started, which is its process group."""
        if self.here and (self.alive() or orphans(self.pid)):
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)


@functools.cache
def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def stat(pid: int) -> list[str]:
    """What the kernel says of a process, from its state on; nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def mine() -> dict[str, Any]:
    """What this process claims a run with."""
    pid = os.getpid()
    return {"pid": pid, "started": start_time(pid), "host": socket.gethostname(), "boot": boot_id()}


def start_time(pid: int) -> int | None:
    """None: it has ended, though its parent may not have heard of it yet."""
    found = stat(pid)
    return int(found[19]) if found and found[0] not in ("Z", "X") else None


def orphans(group: int) -> list[int]:
    """What a leader of a process group has left behind: a JVM without its Python."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if (found := stat(pid)) and int(found[2]) == group and found[0] not in ("Z", "X")]
