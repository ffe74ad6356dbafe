"""Reads the matches as they come and keeps count: how many, and how long after the like."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from millstream import journal
from millstream.journal.reader import Isolation

WINDOW = 10.0
"""Latencies and rates are those of the last seconds."""
SAMPLES = 10_000
WAIT = 0.1


@dataclass(frozen=True)
class Latency:
    """Milliseconds from the like that made the match to its reader."""

    p50: float
    p99: float


class Meter:
    """One reader of the matches, in its own thread."""

    def __init__(self, path: Path, topic: str, isolation: Isolation) -> None:
        self.count = 0
        self.latest: tuple[str, str] | None = None
        self._samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES)  # when, latency
        self._reader = journal.Reader(path, topic, isolation=isolation)
        self._stopping = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            while not self._stopping.is_set():
                self._note(self._reader.poll(WAIT))
        except Exception as error:
            self._failure = error

    def _note(self, records: list[journal.Record]) -> None:
        now, clock = time.monotonic(), time.time() * 1000
        for record in records:
            match = json.loads(record.value or b"{}")
            self._samples.append((now, max(0.0, clock - match["sent"])))
            self.latest = match["liker"], match["liked"]
        self.count += len(records)

    def latency(self) -> Latency | None:
        """Over the window; None if no match came in it."""
        since = time.monotonic() - WINDOW
        values = sorted(latency for when, latency in tuple(self._samples) if when >= since)
        if not values:
            return None
        return Latency(quantile(values, 0.50), quantile(values, 0.99))

    def check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Reads what is there, and ends."""
        self._stopping.set()
        self._thread.join()
        while rest := self._reader.poll():
            self._note(rest)
        self._reader.close()


def quantile(ordered: list[float], share: float) -> float:
    """The smallest value that this share of the values does not exceed."""
    return ordered[max(0, -int(-len(ordered) * share // 1) - 1)]


class Rate:
    """How fast a count grows."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, int]] = deque()

    def note(self, count: int) -> float:
        now = time.monotonic()
        self._points.append((now, count))
        while now - self._points[0][0] > WINDOW / 2:
            self._points.popleft()
        first, before = self._points[0]
        return (count - before) / (now - first) if now > first else 0.0
