"""Named places in Python where a process may be killed, as `kernels/millstream/faults` has them in Java."""

from __future__ import annotations

import os
import socket
import sys
import threading
from typing import IO

POINT, _, EPOCH = os.environ.get("MILLSTREAM_FAULT", "").partition("@")
FIRST = int(EPOCH or 0)
KILLED = 137
VISITS = "MILLSTREAM_VISITS"
"""In the environment: the port that every place is reported to when it is met."""


def at(point: str, epoch: int, sink: str) -> None:
    """Ends the process at once if this is the place that was named, in its epoch or a later one."""
    if VISITS in os.environ:
        TELLER.tell(point, epoch, sink)
    if point == POINT and epoch >= FIRST:
        sys.stderr.write(f"fault: killed at {point}@{epoch}\n")
        sys.stderr.flush()
        os._exit(KILLED)


class Teller:
    """Reports every place that is met to a listener, one at a time, and goes on when it says so."""

    def __init__(self) -> None:
        self._lines: IO[str] | None = None
        self._lock = threading.Lock()

    def tell(self, point: str, epoch: int, sink: str) -> None:
        with self._lock:
            if self._lines is None:
                self._lines = socket.create_connection(("127.0.0.1", int(os.environ[VISITS]))).makefile("rw")
            self._lines.write(f"{point}\t{epoch}\t{sink}\n")
            self._lines.flush()
            self._lines.readline()


TELLER = Teller()
