"""Who likes whom: a pool of people of whom some are popular, and likes that are answered a while later."""

from __future__ import annotations

import heapq
import random

POOL = 20_000
ANSWERED = 0.3
"""The share of likes that will be answered."""
ANSWER_AFTER = 4.0
"""Seconds, on average."""

NAMES = (
    "ada",
    "ben",
    "cleo",
    "dana",
    "ella",
    "finn",
    "gus",
    "hana",
    "ida",
    "jo",
    "kai",
    "lea",
    "mia",
    "noah",
)


class People:
    """Gives like after like. Seeded, so that a demo can be repeated."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._answers: list[tuple[float, str, str]] = []  # a heap, by the time when they are due

    def like(self, now: float) -> tuple[str, str]:
        """The like of this moment, in seconds: an answer if one is due, else a new one. (who, whom)"""
        if self._answers and self._answers[0][0] <= now:
            _, liker, liked = heapq.heappop(self._answers)
            return liker, liked
        liker, liked = self._someone(1), self._someone(3)
        while liker == liked:
            liked = self._someone(3)
        if self._random.random() < ANSWERED:
            due = now + self._random.expovariate(1 / ANSWER_AFTER)
            heapq.heappush(self._answers, (due, liked, liker))
        return liker, liked

    def _someone(self, skew: int) -> str:
        """With a skew of 1 everyone is equally likely; the higher it is, the more often the popular ones."""
        number = int(POOL * self._random.random() ** skew)
        return f"{NAMES[number % len(NAMES)]}-{number}"
