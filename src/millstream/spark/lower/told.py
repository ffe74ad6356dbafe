"""The kernels' settings: one class per kind of operator, and the one place where they become JSON.

The kernels have a record for each, which refuses fields that it does not know and fields that are missing. Saved state
does not depend on any of this: see state.py.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Told:
    """The settings of one kind of operator, beside its name and where its rows are."""

    kind: ClassVar[str]


@dataclass(frozen=True)
class Hosted:
    """An operator of a stage. `keys`: the columns of its key. `port`: its first payload; others follow.

    `upserts`: whether all that reads it upserts by its key. `follows`: whether rows come from a step that lets them
    wait. `images`: for each reader, SQL over `row` for what it sees of a row, or None if that is all; none at all: all
    readers see everything.
    """

    name: str
    keys: tuple[int, ...]
    port: int
    upserts: bool
    follows: bool
    images: tuple[str | None, ...]
    told: Told


def as_json(hosted: Sequence[Hosted]) -> str:
    return json.dumps([{"kind": one.told.kind, **asdict(one)} for one in hosted])


@dataclass(frozen=True)
class AccumulatorTold:
    """`field`: the first of the payload's fields that feed it."""

    kind: str
    field: str


@dataclass(frozen=True)
class GroupEnds:
    """When groups end: `after_ms` after the time in one of the key's columns."""

    key: int
    after_ms: int


@dataclass(frozen=True)
class AggregateTold(Told):
    """`drops_late`: rows that come after the end are late. `final_only`: only the last result is sent.
    `counted`: whether a result needs the number of rows. `always`: whether there is a result of no rows."""

    kind: ClassVar[str] = "aggregate"
    accumulators: tuple[AccumulatorTold, ...]
    ends: GroupEnds | None
    drops_late: bool
    final_only: bool
    counted: bool
    always: bool


@dataclass(frozen=True)
class SessionsTold(Told):
    """`time`: the payload's field with a row's time. Sessions end `after_ms` after their gap."""

    kind: ClassVar[str] = "sessions"
    accumulators: tuple[AccumulatorTold, ...]
    time: str
    gap_ms: int
    after_ms: int
    final_only: bool


@dataclass(frozen=True)
class HoppingTold(Told):
    """`time`: the payload's field with the start of a row's pane. `windows`: how many a pane is part of."""

    kind: ClassVar[str] = "hopping"
    accumulators: tuple[AccumulatorTold, ...]
    time: str
    windows: int
    every_ms: int
    after_ms: int
    final_only: bool


@dataclass(frozen=True)
class SlidingTold(Told):
    """`back`: the first of the payload's fields that take a row back. `end`: the one that says when it leaves.
    `counted`: whether a result needs the number of rows. `always`: whether there is a result of no rows."""

    kind: ClassVar[str] = "sliding"
    accumulators: tuple[AccumulatorTold, ...]
    back: str
    end: str
    size_ms: int
    counted: bool
    always: bool


@dataclass(frozen=True)
class LifetimeTold:
    """How long a join keeps a side's rows after the time in a field. `late_ms`: older ones are late; None: none is.
    `exact`: what happens to them then is seen."""

    field: str
    keep_ms: int
    late_ms: int | None
    exact: bool


@dataclass(frozen=True)
class JoinTold(Told):
    """`append_only_sides`: for each side, whether its rows are never taken back. `residual`: SQL over `l` and `r`."""

    kind: ClassVar[str] = "join"
    append_only_sides: tuple[bool, bool]
    residual: str | None


@dataclass(frozen=True)
class CountedJoinTold(Told):
    """`waits`: rows without a partner go out when their time is over, and not before."""

    kind: ClassVar[str] = "counted_join"
    how: str
    append_only_sides: tuple[bool, bool]
    residual: str | None
    waits: bool
    lifetimes: tuple[LifetimeTold | None, LifetimeTold | None]


@dataclass(frozen=True)
class EnrichTold(Told):
    """`replaces`: the table's key, if a row takes the place of the one before it. `tombstones`: the table comes as
    upserts. `outer`: rows that meet nothing go on. `condition`: SQL over `l` and `r`."""

    kind: ClassVar[str] = "enrich"
    outer: bool
    tombstones: bool
    condition: str | None
    replaces: tuple[str, ...]


@dataclass(frozen=True)
class AsOfTold(Told):
    """`lag_ms`: how long after their time rows may come."""

    kind: ClassVar[str] = "as_of"
    outer: bool
    tombstones: bool
    condition: str | None
    lag_ms: int


@dataclass(frozen=True)
class OrderTold:
    field: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class TopTold(Told):
    """`ties`: how many of the payload's fields, from the first on, settle ties."""

    kind: ClassVar[str] = "top"
    count: int
    order: tuple[OrderTold, ...]
    ties: int
    ranked: bool
    append_only: bool
    ends: GroupEnds | None


@dataclass(frozen=True)
class DedupTold(Told):
    """`time`: the payload's field with a row's time in microseconds; the fields before it settle ties."""

    kind: ClassVar[str] = "dedup"
    keep_last: bool
    time: str
    within_ms: int
    late_ms: int


@dataclass(frozen=True)
class LateRowsTold(Told):
    """`end`: the payload's field with the end of a row's window."""

    kind: ClassVar[str] = "late_rows"
    end: str
    after_ms: int


@dataclass(frozen=True)
class LatestTold(Told):
    kind: ClassVar[str] = "latest"


@dataclass(frozen=True)
class CollapseTold(Told):
    kind: ClassVar[str] = "collapse"


@dataclass(frozen=True)
class PassTold(Told):
    kind: ClassVar[str] = "pass"


@dataclass(frozen=True)
class ListTold:
    """A list of a process: its items as a Spark schema in JSON."""

    name: str
    item: str


@dataclass(frozen=True)
class MapTold:
    name: str
    key: str
    value: str


@dataclass(frozen=True)
class ProcessTold(Told):
    """Schemas are Spark's, in JSON. `values`: the row that holds all value variables. `command`: what the Python
    process runs, in base64. `time`: the payload's field with a row's time. `clocked`: whether it sets timers by the
    clock. `wait_ms`: in real time, how long rows may wait for others to go with."""

    kind: ClassVar[str] = "process"
    values: str
    lists: tuple[ListTold, ...]
    maps: tuple[MapTold, ...]
    output: str
    command: str
    python: str
    environment: dict[str, str]
    time: str | None
    clocked: bool
    wait_ms: int
