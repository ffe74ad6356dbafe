"""The operators with state that bring rows of two sides together: join, and enrich."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from millstream.plan.columns import Columns, side_by_side
from millstream.plan.expressions import Expr, field
from millstream.plan.intervals import Lifetime, Within
from millstream.plan.node import Key, Node, Stateful, beneath
from millstream.plan.nodes import VERSION, Keep, Versions
from millstream.plan.operators import Aggregate, Latest

COPY = "_copy"
"""The field that numbers the copies of a row."""
How = Literal["inner", "left", "right", "full", "semi", "anti"]
HOWS: tuple[How, ...] = ("inner", "left", "right", "full", "semi", "anti")


@dataclass(frozen=True, eq=False)
class Join(Stateful):
    """Rows that agree on `on` (pairs of expressions) and meet `residual`; `how`: what happens to the others.

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
        """Both sides', or only the left's if the right is only matched."""
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
        """The time of the side whose rows are all kept: the left, or the right in a right join."""
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
        """A side that is only matched still gives one field: a row must have something to compare."""
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
        """The table's changes as they are in its source, if those are read."""
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
        """Rows that wait for their time come out when it has passed."""
        return self.left.lag if self.as_of is None else (self.left.lag or 0) + 1

    @cached_property
    def replaces(self) -> bool:
        """Whether the table has one row for each key of the match, and a new one comes after the old one."""
        node = beneath(self.right, lambda step: step.row_for_row)
        keys = {field(name) for name in self.right.key or ()}
        return isinstance(node, Latest | Aggregate) and bool(keys) and {right.sql for _, right in self.on} == keys

    def reads(self, needed: set[str]) -> list[set[str]]:
        left, right = self.pairing.reads(needed)
        if self.changes is not None:
            right |= {*self.changes.by, *VERSION}
        if self.as_of and self.since:
            left, right = left | {self.as_of}, right | {self.since}
        return [left, right]
