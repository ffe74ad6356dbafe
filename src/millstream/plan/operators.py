"""The operators that keep state: each has a lowering in `spark/lower` and a kernel in `kernels/millstream/stage`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from millstream.plan.aggregates import END, Closing, Figure, Keyed, Result
from millstream.plan.columns import Columns, plain, side_by_side
from millstream.plan.expressions import Expr, field
from millstream.plan.intervals import Lifetime, Within
from millstream.plan.node import Key, Node, Stateful, Unary
from millstream.plan.nodes import VERSION, Alias, Declared, Keep, Project, Versions

COPY = "_copy"
"""The field that numbers the copies of a row."""
How = Literal["inner", "left", "right", "full", "semi", "anti"]
HOWS: tuple[How, ...] = ("inner", "left", "right", "full", "semi", "anti")


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
    keys: tuple[Keyed, ...]
    figures: tuple[Figure, ...]
    results: tuple[Result, ...]
    closing: Closing | None = None

    @cached_property
    def columns(self) -> Columns:
        return plain([*(part.name for part in self.keys), *(part.name for part in self.results)])

    @cached_property
    def append_only(self) -> bool:
        """Results are sent once; or there is nothing in them that could change."""
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
        return self.input.lag if self.closing is None else self.closing.allowed_ms + 1

    @property
    def drops_late(self) -> bool:
        return self.closing is not None

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
    """Groups by key and windows that overlap. The first two keys are the last window that a row is in; so many begin
    one after the other, and what is counted between two beginnings is kept once."""

    windows: int = 0
    every_ms: int = 0


@dataclass(frozen=True)
class Ordering:
    """One of the things that rows are sorted by."""

    expr: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, eq=False)
class Top(Stateful, Unary):
    """The first rows of each group; rows that are alike in the order go by all their fields, so that it is total."""

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


@dataclass(frozen=True, eq=False)
class Expire(Stateful, Unary):
    """The rows of a stream while they are there: each leaves when the watermark reaches its `closing.end`."""

    closing: Closing

    prunes = True

    @property
    def end(self) -> str:
        return self.closing.end

    @cached_property
    def append_only(self) -> bool:
        return False

    @cached_property
    def event_time(self) -> str | None:
        return None

    @property
    def drops_late(self) -> bool:
        return True

    def reads(self, needed: set[str]) -> list[set[str]]:
        return [needed | {self.end}]


@dataclass(frozen=True, eq=False)
class Join(Stateful):
    """Rows that agree on `on` (pairs of expressions) and meet `residual`; `how`: what becomes of the others.

    `within`: how far apart in time partners can be. `ttl_ms`: for how long the rows of streams are kept. `broadcast`:
    the right is copied, so that the left may be spread. `closed`: where rows meet by window, when it is closed.
    """

    left: Node
    right: Node
    on: tuple[tuple[Expr, Expr], ...]
    residual: Expr | None
    how: How = "inner"
    within: Within | None = None
    ttl_ms: int | None = None
    broadcast: bool = False
    closed: tuple[Lifetime, Lifetime] | None = None

    prunes = True

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @cached_property
    def columns(self) -> Columns:
        """Both sides', or those of the left, if the right is only looked at."""
        right = [column for column in self.right.columns if self.pairs and column.name != COPY]
        return side_by_side(self.left.columns, tuple(right))

    @property
    def pairs(self) -> bool:
        return self.how not in ("semi", "anti")

    @property
    def alone(self) -> tuple[bool, bool]:
        """For each side, whether rows without a partner go out."""
        return self.how in ("left", "full", "anti"), self.how in ("right", "full")

    @cached_property
    def append_only(self) -> bool:
        """A row that went out without a partner is taken back when one comes, unless it waited until none can."""
        final = self.within is not None or not any(self.alone)
        return final and self.left.append_only and self.right.append_only

    @cached_property
    def event_time(self) -> str | None:
        """That of the side whose rows are all there: of the left, or of the right in a right join."""
        if self.within is None or self.how == "full":
            return None
        left, right = self.carried
        return right[self.within.right] if self.how == "right" else left[self.within.left]

    @property
    def drops_late(self) -> bool:
        return self.within is not None

    @property
    def lags(self) -> tuple[int, int]:
        """For each side, how late a row may come: as late as a partner of it, unless its input knows better."""
        assert self.within is not None
        own = max(0, self.within.most_ms), max(0, -self.within.least_ms)
        left, right = self.left.lag, self.right.lag
        return own[0] if left is None else left, own[1] if right is None else right

    @cached_property
    def lag(self) -> int | None:
        """A row goes out when its partner comes, or when none can come any more."""
        if self.within is None:
            return None
        left, right = self.lags
        if self.how == "right":
            return max(right, left - self.within.least_ms) + 1
        return max(left, right + self.within.most_ms) + 1

    @cached_property
    def lifetimes(self) -> tuple[Lifetime | None, Lifetime | None]:
        """For each side, how long its rows are kept. None: as long as they are not taken back."""
        if self.within is not None:
            left, right = self.lags
            return (
                Lifetime(self.within.left, right + self.within.most_ms, left),
                Lifetime(self.within.right, left - self.within.least_ms, right),
            )
        return self.closed or (self.forgets(self.left), self.forgets(self.right))

    def forgets(self, side: Node) -> Lifetime | None:
        """Rows of tables are kept: they may be taken back."""
        if self.ttl_ms is None or side.event_time is None or not side.append_only:
            return None
        return Lifetime(side.event_time, self.ttl_ms, None)

    @cached_property
    def key(self) -> Key | None:
        """The keys of the sides that tell rows apart: one without a partner has NULL in the place of the other's."""
        sides = zip(self.inputs, self.carried, self.tells, strict=True)
        keys = [(side.key, carried) for side, carried, tells in sides if tells]
        if any(key is None for key, _ in keys):
            return None
        return tuple(carried[name] for key, carried in keys for name in key or () if name != COPY)

    @cached_property
    def tells(self) -> tuple[bool, bool]:
        """For each side, whether its key tells rows of the result apart: not where the other's rows meet one row of it
        at most, and none goes out by itself."""
        right = self.pairs and (self.alone[1] or not self.matched_by_key(1))
        return not right or self.alone[0] or not self.matched_by_key(0), right

    def matched_by_key(self, side: int) -> bool:
        """Whether each field of the side's key must equal something of the other side."""
        key = self.inputs[side].key
        matched = {pair[side].sql for pair in self.on}
        return key is not None and all(field(name) in matched for name in key if name != COPY)

    @property
    def carried(self) -> tuple[dict[str, str], dict[str, str]]:
        """For each side, the field that carries a field of the input, in the result and in the condition."""
        width = len(self.left.columns)
        fields = [column.field for column in side_by_side(self.left.columns, self.right.columns)]
        left = zip(self.left.carries, fields[:width], strict=True)
        right = zip(self.right.carries, fields[width:], strict=True)
        return dict(left), dict(right)

    def reads(self, needed: set[str]) -> list[set[str]]:
        """A side that is only matched still gives one field: a row must have something to be told apart by."""
        later = needed | (self.residual.fields if self.residual else set())
        sides = []
        for i, carried in enumerate(self.carried):
            fields = {old for old, new in carried.items() if new in later}
            fields |= {part.field for part in self.lifetimes[i : i + 1] if part}
            fields |= set().union(*(pair[i].fields for pair in self.on))
            sides.append(fields)
        return sides


@dataclass(frozen=True, eq=False)
class Enrich(Stateful):
    """Each row of a stream (left) with what a table (right) has for it: once, and never corrected.

    `as_of`: the field with the row's time; the right side is then the table's versions, and `since` their time. By the
    table's key alone, the right side may also be its upserts, of which the last counts.
    """

    left: Node
    right: Node
    on: tuple[tuple[Expr, Expr], ...]
    residual: Expr | None
    outer: bool
    as_of: str | None = None
    since: str | None = None

    prunes = True

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @cached_property
    def table(self) -> Node:
        """The right side with the table's own columns only."""
        own = tuple(name for name in self.right.carries if name not in VERSION)
        return self.right if self.changes is None else Keep(None, None, self.right, own)

    @cached_property
    def changes(self) -> Versions | None:
        """The table's changes as they are in its source, if it is they that are read."""
        node = self.right.input if isinstance(self.right, Keep) else self.right
        return node if isinstance(node, Versions) else None

    @cached_property
    def pairing(self) -> Join:
        """The join that says what goes with what."""
        return Join(None, None, self.left, self.table, self.on, self.residual)

    @cached_property
    def columns(self) -> Columns:
        return self.pairing.columns

    @cached_property
    def append_only(self) -> bool:
        return True

    @property
    def drops_late(self) -> bool:
        return self.as_of is not None

    @cached_property
    def event_time(self) -> str | None:
        return self.pairing.carried[0].get(self.left.event_time or "")

    @cached_property
    def lag(self) -> int | None:
        """What waits for its time comes out when it is past."""
        return self.left.lag if self.as_of is None else (self.left.lag or 0) + 1

    @cached_property
    def replaces(self) -> bool:
        """Whether the table has one row for each key of the match, and a new one comes after the old one."""
        node = self.right
        while isinstance(node, Alias | Declared | Keep | Project):
            node = node.input
        keys = {field(name) for name in self.right.key or ()}
        return isinstance(node, Latest | Aggregate) and bool(keys) and {right.sql for _, right in self.on} == keys

    def reads(self, needed: set[str]) -> list[set[str]]:
        left, right = self.pairing.reads(needed)
        if self.changes is not None:
            right |= {*self.changes.by, *VERSION}
        if self.as_of and self.since:
            left, right = left | {self.as_of}, right | {self.since}
        return [left, right]
