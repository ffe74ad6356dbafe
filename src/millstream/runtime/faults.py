"""Named places in Python where a test may kill the process, as `kernels/millstream/faults` has them in Java."""

from __future__ import annotations

import os
import sys

POINT, _, EPOCH = os.environ.get("MILLSTREAM_FAULT", "").partition("@")
FIRST = int(EPOCH or 0)
KILLED = 137


def at(point: str, epoch: int) -> None:
    """Ends the process at once if this is the place that was named, in its epoch or a later one."""
    if point == POINT and epoch >= FIRST:
        sys.stderr.write(f"fault: killed at {point}@{epoch}\n")
        sys.stderr.flush()
        os._exit(KILLED)
