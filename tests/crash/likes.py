"""Likes that flow into a journal, and the expected results."""

from __future__ import annotations

import itertools
import json
import random
import threading
from collections import Counter

from millstream import journal

USERS = 30
ENOUGH = 20
"""With this many matches, a test shows something."""


class Generator:
    """Likes that flow until they are stopped, each with its number, among enough users to keep matches few."""

    def __init__(self, path: str, seed: int, at_once: int = 5, pause: float = 0.3) -> None:
        """`at_once`: likes at a time. `pause`: seconds in between."""
        self.likes: list[tuple[str, str, int]] = []
        self._at_once, self._pause = at_once, pause
        self._random = random.Random(seed)
        self._producer = journal.producer(path, "likes")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Generator:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def finish(self) -> None:
        if not self._stop.is_set():
            self._stop.set()
            self._thread.join()
            self._producer.close()

    def _run(self) -> None:
        for n in itertools.count():
            one, other = self._random.sample(range(USERS), 2)
            self.likes.append((f"u{one}", f"u{other}", n))
            self._producer.send({"liker": f"u{one}", "liked": f"u{other}", "n": n}, key=f"u{one}")
            if n % self._at_once == self._at_once - 1:
                self._producer.flush()
                # No more of them than a killed job has processed by the end.
                if self._stop.wait(self._pause):
                    return


def expected(likes: list[tuple[str, str, int]]) -> tuple[Counter[tuple[object, ...]], dict[str, tuple[int, int]]]:
    """The same in ten lines of Python."""
    pairs: dict[tuple[str, str], list[int]] = {}
    for liker, liked, n in likes:
        pairs.setdefault((liker, liked), []).append(n)
    matches: Counter[tuple[object, ...]] = Counter()
    for (one, other), numbers in pairs.items():
        if one < other:
            for a, b in itertools.product(numbers, pairs.get((other, one), [])):
                matches[(one, other, min(a, b), max(a, b))] += 1
    popular: dict[str, tuple[int, int]] = {}
    for _, liked, n in likes:
        popular[liked] = (popular.get(liked, (0, 0))[0] + 1, n)
    return matches, popular


def found(path: str) -> tuple[Counter[tuple[object, ...]], dict[str, tuple[int, int]]]:
    rows = [json.loads(record.value or b"") for record in journal.read(path, "matches")]
    matches: Counter[tuple[object, ...]] = Counter(
        (row["liker"], row["liked"], row["first"], row["second"]) for row in rows
    )
    popular: dict[str, tuple[int, int]] = {}
    for record in journal.read(path, "popular"):
        row = json.loads(record.value or b"")
        popular[row["liked"]] = (row["likes"], row["last"])
    return matches, popular
