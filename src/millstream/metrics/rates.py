"""How fast counters grow: from the figures of the last seconds."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from millstream.metrics.model import Metrics

WINDOW = 10.0
"""Seconds to look back. In micro-batches rows are counted when their task ends."""


class Rates:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self._seen: deque[tuple[float, Metrics]] = deque()
        self.elapsed = 0.0

    def note(self, now: Metrics) -> None:
        at = self._clock()
        self.elapsed = at - self._begun
        self._seen.append((at, now))
        while len(self._seen) > 2 and self._seen[1][0] <= at - WINDOW:
            self._seen.popleft()

    def of(self, count: Callable[[Metrics], float]) -> float:
        """By how much it grows in a second."""
        if len(self._seen) < 2:
            return 0.0
        (begin, first), (end, last) = self._seen[0], self._seen[-1]
        return max(0.0, count(last) - count(first)) / max(end - begin, 1e-3)
