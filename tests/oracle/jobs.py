"""The jobs that the oracle judges. Each is written once, in a file by its kind, and runs in every scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import millstream as ms
from millstream.testing.trial import Topics


@dataclass(frozen=True)
class Written:
    """A job and how many changes each of its sources has. `quick`: whether the unit part runs it.
    `first`: sources that are read before all others."""

    build: Callable[[Topics], ms.Job]
    quick: bool
    counts: dict[str, int]
    first: tuple[str, ...]


ALL: dict[str, Written] = {}


def job(
    quick: bool = False, first: tuple[str, ...] = (), **counts: int
) -> Callable[[Callable[[ms.Job, Topics], None]], None]:
    def register(fill: Callable[[ms.Job, Topics], None]) -> None:
        def build(topics: Topics) -> ms.Job:
            made = ms.Job(fill.__name__)
            fill(made, topics)
            return made

        ALL[fill.__name__] = Written(build, quick, counts, first)

    return register
