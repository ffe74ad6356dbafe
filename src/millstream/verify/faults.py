"""Where a job is killed: at one visit of one place, or a few milliseconds after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

LATER = 0.2
"""How often a job is killed not at a place but on its way to the next one."""
LONGEST_MS = 30


Place = tuple[str, str]
"""A point, and its sink, if each sink has such a point."""


@dataclass(frozen=True)
class Visit:
    """The `number`-th time that an epoch came to a place; some places exist for each sink."""

    point: str
    epoch: int
    sink: str = ""
    number: int = 0

    @property
    def place(self) -> Place:
        return self.point, self.sink

    @property
    def moment(self) -> tuple[int, int]:
        """When it was, among the visits of its place."""
        return self.epoch, self.number


@dataclass(frozen=True)
class Fault:
    visit: Visit
    later_ms: int = 0

    def __str__(self) -> str:
        visit = self.visit
        nth = f", visit {visit.number + 1}" if visit.number else ""
        later = f", {self.later_ms} ms later" if self.later_ms else ""
        return f"{label(visit.place)} in epoch {visit.epoch}{nth}{later}"


def label(place: Place) -> str:
    point, sink = place
    return f"{point} of {sink}" if sink else point


Chain = tuple[Fault, ...]
"""Faults one after the other: the job is started again after each."""


class Choice:
    """Chooses faults among the visits of a run without any: place after place, so that none is left out for long.

    `telling`: the visit to begin with, if it is among them.
    """

    def __init__(self, visits: Sequence[Visit], seed: int, telling: Visit | None = None) -> None:
        self._random = Random(seed)
        self._order = {visit: position for position, visit in enumerate(visits)}
        self._by_place: dict[Place, list[Visit]] = defaultdict(list)
        for visit in visits:
            self._by_place[visit.place].append(visit)
        for found in self._by_place.values():
            found.sort(key=lambda visit: visit.moment)
        self._turns, self._second_turns = self._rounds(), self._rounds()
        self._telling = telling if telling in self._order else None

    @property
    def places(self) -> list[Place]:
        """In the order in which they are first met."""
        return list(self._by_place)

    def _rounds(self) -> Iterator[Place]:
        while True:
            yield from self._random.sample(sorted(self._by_place), len(self._by_place))

    def first(self) -> Fault:
        """In a run from the beginning."""
        if self._telling is not None:
            fault, self._telling = Fault(self._telling), None
            return fault
        return self._fault(self._by_place[next(self._turns)])

    def after(self, fault: Fault) -> Fault | None:
        """In the run that goes on after a fault: it meets the same places, only later ones."""
        begun = self._order[fault.visit]
        for _ in self._by_place:
            later = [visit for visit in self._by_place[next(self._second_turns)] if self._order[visit] > begun]
            if later:
                return self._fault(later)
        return None

    def _fault(self, among: list[Visit]) -> Fault:
        later = self._random.randint(1, LONGEST_MS) if self._random.random() < LATER else 0
        return Fault(self._random.choice(among), later)
