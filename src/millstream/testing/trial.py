"""A case of the oracle: a job, and the changes of each of its sources; and a trial of it, in a folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from millstream import journal
from millstream.api.job import Job
from millstream.journal.topics import create
from millstream.testing.cases import Change
from millstream.testing.feed import feed

if TYPE_CHECKING:
    from millstream.connectors.journal import JournalSink, JournalSource

PARTITIONS = 2
Limits = Mapping[str, int | None]
"""By topic, how many rows an epoch may take."""


class Topics:
    """Names the topics of a case: sources that give few rows per epoch, sinks that are created on demand."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path = path
        self._limits = limits

    def source(self, topic: str, *, changelog: bool = False, dead_letters: str | None = None) -> JournalSource:
        if dead_letters is not None:
            self.sink(dead_letters)
        return journal.source(
            topic,
            path=str(self.path),
            changelog=changelog,
            dead_letters=dead_letters,
            max_rows_per_epoch=self._limits[topic],
        )

    def sink(self, topic: str, *, changelog: bool = False, key: str | tuple[str, ...] = ()) -> JournalSink:
        if not (self.path / topic).exists():
            create(self.path, topic, PARTITIONS)
        return journal.sink(topic, path=str(self.path), changelog=changelog, key=key)


Build = Callable[[Topics], Job]


@dataclass(frozen=True)
class Case:
    """A job, and the changes of each of its sources.

    `epochs`: about how many the input is cut into, at random. `runs`: the job is stopped and started again from its
    checkpoint, with a part of the input each time. `first`: topics that are read to their end, in their own run,
    before the others have anything: for jobs whose results depend on what was known when. `killed`: a job with a time
    is killed right after the commit of the last epoch that had rows, and started again.
    """

    build: Build
    inputs: Mapping[str, Sequence[Change]]
    seed: int
    epochs: int = 5
    runs: int = 1
    first: Sequence[str] = ()
    killed: bool = False


@dataclass
class Trial:
    """A case in its own folder."""

    case: Case
    folder: Path
    random: Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = Random(self.case.seed)
        for topic in self.case.inputs:
            create(self.journal, topic, PARTITIONS)

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @cached_property
    def topics(self) -> list[str]:
        """Those that the job reads, in the order of its plan's sources."""
        return [source.options.label for source in self.job().plan().sources]

    @property
    def runs(self) -> int:
        return self.case.runs + bool(self.case.first)

    def job(self, limits: Limits | None = None) -> Job:
        job = self.case.build(Topics(self.journal, limits or dict.fromkeys(self.case.inputs)))
        job.checkpoint = str(self.checkpoint)
        return job

    def feed(self, portions: int = 1) -> Iterator[dict[str, int | None]]:
        """Appends a part of the input for each run, in portions, and says how many rows an epoch may take."""
        cuts = {topic: self.cut(topic, len(changes)) for topic, changes in self.case.inputs.items()}
        for run, portion in product(range(self.runs), range(portions)):
            limits: dict[str, int | None] = {}
            for topic, changes in self.case.inputs.items():
                part = changes[cuts[topic][run] : cuts[topic][run + 1]]
                begin, end = (len(part) * at // portions for at in (portion, portion + 1))
                feed(self.journal, topic, part[begin:end], PARTITIONS)
                epochs = self.case.epochs / self.case.runs * self.random.uniform(0.5, 1.0)
                limits[topic] = max(1, math.ceil(len(part) / epochs))
            yield limits

    def cut(self, topic: str, count: int) -> list[int]:
        if topic in self.case.first:
            return [0] + [count] * (self.case.runs + 1)
        # Tables grow and then shrink (cases.py): in between, all queries have rows.
        inner = [self.random.randint(count // 4, count * 3 // 4) for _ in range(self.case.runs - 1)]
        return [0] * bool(self.case.first) + [0, *sorted(inner), count]
