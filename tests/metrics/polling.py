"""Waits until a run's figures say something."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.metrics import Metrics
    from millstream.runtime.run import Run


def poll(run: Run, until: Callable[[Metrics], bool], seconds: float = 60) -> Metrics:
    end = time.monotonic() + seconds
    while not until(run.metrics()) and time.monotonic() < end:
        run.poll(0.1)
    assert until(run.metrics()), run.metrics()
    return run.metrics()
