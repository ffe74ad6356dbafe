"""The operators that keep state: each has a lowering in `spark/lower` and a kernel in `kernels/millstream`. Those
of two sides are in `two_sides.py`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from millstream.plan.aggregates import END, Closing, Figure, Result
from millstream.plan.columns import Columns, plain
from millstream.plan.expressions import Expr, NamedExpr
from millstream.plan.node import Key, Stateful, Unary


@dataclass(frozen=True, eq=False)
class Latest(Stateful, Unary):
    """Upserts by key as a table: the latest row of each key."""

    by: Key

    prunes = True

    @cached_property
    def append_only(self) -> bool:
        return False

    @cached_property
    def key(self) -> Key | None:
        return self.by

    def reads(self, needed: set[str]) -> list[set[str]]:
        return [needed | set(self.by)]


@dataclass(frozen=True, eq=False)
class Collapse(Stateful, Unary):
    """A table with the changes of each key brought together, in order: for upserts."""

    by: Key

    @cached_property
    def key(self) -> Key | None:
        return self.by


@dataclass(frozen=True, eq=False)
class Aggregate(Stateful, Unary):
    keys: tuple[NamedExpr, ...]
    figures: tuple[Figure, ...]
    results: tuple[Result, ...]
    closing: Closing | None = None

    @cached_property
    def columns(self) -> Columns:
        return plain([*(part.name for part in self.keys), *(part.name for part in self.results)])

    @cached_property
    def append_only(self) -> bool:
        """Results are sent once, or nothing in them can change."""
        return self.closing.final if self.closing is not None else not self.results and self.input.append_only

    @cached_property
    def key(self) -> Key | None:
        return tuple(part.name for part in self.keys)

    @cached_property
    def event_time(self) -> str | None:
        return None

    @cached_property
    def lag(self) -> int | None:
        """A window's last result comes when it is closed. Its time is the last moment before its end."""
        return self.input.lag if self.closing is None else self.closing.after_ms + 1

    @property
    def drops_late(self) -> bool:
        return self.closing is not None

    @property
    def adds_only(self) -> bool:
        """Whether no row is ever taken out of a group."""
        return self.input.append_only

    def reads(self, needed: set[str]) -> list[set[str]]:
        keys = [part.expr.fields for part in self.keys]
        return [set().union(*keys, *(part.fields for part in self.figures))]


@dataclass(frozen=True, eq=False)
class Sessions(Aggregate):
    """Groups by key and session. The first two keys are the window that a row has by itself: the sessions are made
    of those that touch."""

    gap_ms: int = 0

    @cached_property
    def key(self) -> Key | None:
        """A session's end moves; its start tells it apart."""
        return tuple(part.name for part in self.keys if part.name != END)


@dataclass(frozen=True, eq=False)
class Hopping(Aggregate):
    """Groups by key and windows that overlap. The first two keys are the last window that a row is in. A row
    is in `windows` windows; what is counted between the starts of two of them is kept once."""

    windows: int = 0
    every_ms: int = 0


@dataclass(frozen=True, eq=False)
class Sliding(Aggregate):
    """Groups of what lies within some time before their latest row, or before the watermark if that is later. The
    input's END says when a row leaves."""

    size_ms: int = 0

    @cached_property
    def append_only(self) -> bool:
        return False

    @property
    def drops_late(self) -> bool:
        return True

    @property
    def adds_only(self) -> bool:
        return False

    def reads(self, needed: set[str]) -> list[set[str]]:
        return [super().reads(needed)[0] | {END}]


@dataclass(frozen=True)
class Ordering:
    """One of the things that rows are sorted by."""

    expr: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, eq=False)
class Top(Stateful, Unary):
    """The first rows of each group; rows that are equal in the order are ordered by all their fields, so that it is
    total."""

    count: int
    order: tuple[Ordering, ...]
    per: Key
    rank: str | None = None

    @cached_property
    def columns(self) -> Columns:
        return (*self.input.columns, *plain([self.rank] if self.rank else []))

    @cached_property
    def append_only(self) -> bool:
        return False

    @cached_property
    def key(self) -> Key | None:
        if self.rank is not None:
            return (*self.per, self.rank)
        return self.per if self.count == 1 else self.input.key

    @cached_property
    def event_time(self) -> str | None:
        return None

    def reads(self, needed: set[str]) -> list[set[str]]:
        """All fields: each may settle a tie."""
        return [set(self.input.carries)]


@dataclass(frozen=True, eq=False)
class Dedup(Stateful, Unary):
    """A stream without the rows that agree with one shortly before them, by event time; `last`: shortly after them."""

    by: Key
    within_ms: int
    last: bool = False

    @cached_property
    def key(self) -> Key | None:
        return None

    @property
    def drops_late(self) -> bool:
        return True

    def reads(self, needed: set[str]) -> list[set[str]]:
        """All fields: each may settle which of two rows of the same time is kept."""
        return [set(self.input.carries)]

    @cached_property
    def lag(self) -> int | None:
        """The last of some rows goes out when none can follow it any more."""
        return (self.input.lag or 0) + self.within_ms + 1 if self.last else self.input.lag


@dataclass(frozen=True, eq=False)
class LateRows(Stateful, Unary):
    """The rows that come when their window is closed, and those that have no time."""

    closing: Closing

    prunes = True

    @cached_property
    def key(self) -> Key | None:
        return None

    @cached_property
    def event_time(self) -> str | None:
        return None

    def reads(self, needed: set[str]) -> list[set[str]]:
        return [needed | {self.closing.end}]
