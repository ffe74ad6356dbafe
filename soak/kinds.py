"""Kinds of faults, and the order in which they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

W = TypeVar("W", contravariant=True)
Mend = Callable[[], None]


@dataclass(frozen=True)
class Kind(Generic[W]):
    """`W`: all that there is to break."""

    name: str
    strike: Callable[[W], Mend | None]
    """Breaks something. It may leave a part to be repaired when the job is back at work."""
    share: int
    """About how many of twenty-five faults are of this kind."""
    ends_job: bool = False
    """Whether the job's process ends, and is started again from outside."""
    as_root: bool = False
    """Whether it needs root."""


def order(kinds: Sequence[Kind[W]], count: int, random: Random, root: bool) -> list[Kind[W]]:
    """Every kind by its share, in any order, and each of them early on."""
    possible = [kind for kind in kinds if root or not kind.as_root]
    listed = random.sample(possible, len(possible))
    while len(listed) < count:
        shares = [kind for kind in possible for _ in range(kind.share)]
        listed += random.sample(shares, len(shares))
    return listed[:count]
