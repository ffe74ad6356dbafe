"""The figures of a run, typed. Counters begin at 0 when the run does, and never go back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar


@dataclass(frozen=True)
class ReceptionMetrics:
    """What was received from a source that cannot be read again."""

    received: int = 0
    """Messages that were delivered, duplicates included."""
    acknowledged: int = 0
    redelivered: int = 0
    """Of those received, the ones that the system said it delivered before."""
    duplicates: int = 0
    """Of those received, the ones that were recognised and dropped."""
    waiting: int | None = None
    """Messages that wait in the system, when it was last asked. None: it cannot say."""
    behind_ms: int | None = None
    """By how many milliseconds the last record received is older than the newest one. None: the system cannot say."""
    behind_bytes: int | None = None
    """Bytes of the system's log that were not received yet. None: it cannot say."""


@dataclass(frozen=True)
class SourceMetrics:
    """What was read from a source."""

    name: str
    rows: int = 0
    """Records, or rows where the source has no records."""
    bytes: int | None = None
    """Of the records' values. None: the source gives rows, whose size is not known."""
    skipped: int = 0
    """Records that could not be read, where the source skips them."""
    lag: int | None = None
    """Rows that were there, and not yet read, when the last epoch ended. None: the source cannot say."""
    watermark: datetime | None = None
    """How far event time has come in this source. None: it has no time, or no row has come."""
    idle: bool = False
    """Whether time moves without it."""
    reception: ReceptionMetrics | None = None
    """None: it is read, not received."""


@dataclass(frozen=True)
class OperatorMetrics:
    """What a step that keeps state has done."""

    name: str
    stage: int
    rows_in: int = 0
    """Changes that came in: an update is two."""
    rows_out: int = 0
    late: int = 0
    """Rows that came too late, or had no time."""
    skipped: int = 0
    """Rows on which its Python code failed, where the step skips them."""
    timers_set: int = 0
    timers_rung: int = 0
    seconds: float = 0.0
    """Time spent in it, added up over all tasks; a sample, taken a hundred times a second."""
    watermark: datetime | None = None
    """How far event time has come for it."""
    state_rows: int | None = None
    """None: not counted (see `Metrics.state_rows`), or it shares a store with other operators of its stage."""
    state_bytes: int | None = None
    """None: it shares a store; `stages` has its size."""


@dataclass(frozen=True)
class StageMetrics:
    """The store that all operators of one stage share, after the last epoch."""

    number: int
    operators: tuple[str, ...]
    state_rows: int | None = None
    """None: Spark is not set to count them."""
    state_bytes: int = 0
    """In RocksDB's memory and in its files: rows move from the one to the other when memory is full or saved."""
    commit_ms: int = 0
    """How long it took to save what the last epoch changed, added up over all tasks."""


@dataclass(frozen=True)
class FunctionMetrics:
    """A Python function: `map`, `flat_map` or `filter`."""

    name: str
    skipped: int = 0
    """Rows on which it failed, where the step skips them."""


@dataclass(frozen=True)
class SinkMetrics:
    """What was written to a sink."""

    name: str
    rows: int = 0
    """Records written, those of the running epoch included."""
    bytes: int | None = None
    """Of their keys and values. None: the sink takes rows."""
    prepared: int | None = None
    """The last epoch whose rows are safe, and wait for the commit."""
    published: int | None = None
    """The last epoch that readers of committed rows see."""


Named = TypeVar("Named", SourceMetrics, OperatorMetrics, SinkMetrics)


@dataclass(frozen=True)
class EpochMetrics:
    """An epoch that has ended."""

    epoch: int
    started: datetime
    rows: int
    duration_ms: int
    phases_ms: Mapping[str, int] = field(default_factory=dict)
    """`offsets` (asking sources what there is), `plan`, `log` (saving what is to be read), `rows` (reading to
    writing), `commit`."""


@dataclass(frozen=True)
class Metrics:
    """A run's figures at one moment."""

    job: str
    state: str
    at: datetime
    epochs: int = 0
    """How many have ended since the run began."""
    restarts: int = 0
    last_epoch: EpochMetrics | None = None
    phases_ms: Mapping[str, int] = field(default_factory=dict)
    """What all epochs of the run took together, by phase."""
    watermark: datetime | None = None
    held_back_by: str | None = None
    """The source that is furthest behind in time, of those that are not idle."""
    sources: tuple[SourceMetrics, ...] = ()
    operators: tuple[OperatorMetrics, ...] = ()
    functions: tuple[FunctionMetrics, ...] = ()
    stages: tuple[StageMetrics, ...] = ()
    sinks: tuple[SinkMetrics, ...] = ()

    @property
    def state_rows(self) -> int | None:
        """Of all stages. None unless Spark's `…rocksdb.trackTotalNumberOfRows` is on: it costs a read per write."""
        counted = [stage.state_rows for stage in self.stages]
        return sum(rows for rows in counted if rows is not None) if counted and None not in counted else None

    @property
    def state_bytes(self) -> int:
        return sum(stage.state_bytes for stage in self.stages)

    @property
    def late(self) -> int:
        return sum(operator.late for operator in self.operators)

    def source(self, name: str) -> SourceMetrics:
        return named(self.sources, name)

    def operator(self, name: str) -> OperatorMetrics:
        return named(self.operators, name)

    def sink(self, name: str) -> SinkMetrics:
        return named(self.sinks, name)


def named(parts: tuple[Named, ...], name: str) -> Named:
    found = next((part for part in parts if part.name == name), None)
    if found is None:
        raise KeyError(f"{name!r}; there are: {', '.join(part.name for part in parts)}")
    return found
