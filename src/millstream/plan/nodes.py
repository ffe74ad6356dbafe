"""Where rows come from, the steps that need no memory, and where rows go."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from millstream.plan.columns import Columns, plain, under
from millstream.plan.connectors import FieldType, SinkOptions, SourceOptions, WriteMode
from millstream.plan.expressions import Expr, NamedExpr, field
from millstream.plan.modes import milliseconds
from millstream.plan.node import Key, Node, Stateless, Unary


@dataclass(frozen=True, eq=False)
class Source(Node):
    """Rows from outside. `upserts`: by key, the last one counts, a missing value deletes."""

    options: SourceOptions
    schema: tuple[FieldType, ...]
    upserts: Key | None = None
    time: str | None = None
    lateness: str | None = None
    arrival: str | None = None
    """The column with the time at which a record came into the log, where that is asked for."""
    idle_after: str | None = None
    """After how long without rows time goes on without it."""
    static: bool = False
    """Whether it is read once, whole, when the job starts."""
    history: SourceOptions | None = None
    """What came before its first row, for jobs that begin with that."""

    @cached_property
    def columns(self) -> Columns:
        return plain(part.name for part in self.schema)

    @cached_property
    def append_only(self) -> bool:
        return not self.options.changelog and self.upserts is None

    @cached_property
    def event_time(self) -> str | None:
        return self.time

    @property
    def lateness_ms(self) -> int:
        return milliseconds(self.lateness) if self.lateness else 0

    @property
    def idle_after_ms(self) -> int | None:
        return milliseconds(self.idle_after) if self.idle_after else None

    @property
    def holds_time(self) -> bool:
        """Whether its rows hold time back: those of a table do so only if it has a lateness."""
        return self.time is not None and (self.append_only or self.lateness is not None)

    @property
    def versioned(self) -> bool:
        """Whether its rows replace one another in time."""
        return self.time is not None and not self.append_only


@dataclass(frozen=True, eq=False)
class DeadLetters(Stateless, Unary):
    """The records of a source that could not be read."""

    input: Source

    @cached_property
    def columns(self) -> Columns:
        return plain(["topic", "partition", "offset", "reason", "value"])

    @cached_property
    def append_only(self) -> bool:
        return True

    @cached_property
    def key(self) -> Key | None:
        return None

    @cached_property
    def event_time(self) -> str | None:
        return None


@dataclass(frozen=True, eq=False)
class Declared(Stateless, Unary):
    """A changelog that the user declared to have a key."""

    labels = whole = row_for_row = True

    declared: Key

    @cached_property
    def key(self) -> Key | None:
        return self.declared


@dataclass(frozen=True, eq=False)
class Timed(Stateless, Unary):
    """A stream of which the user said which column is the time of its rows."""

    labels = whole = row_for_row = True

    time: str

    @cached_property
    def event_time(self) -> str | None:
        return self.time


VERSION = ("_gone", "_offset", "_ended")
"""What is known about a change beside its row: whether it removes the row, its place in the log, and its time there."""


@dataclass(frozen=True, eq=False)
class Versions(Stateless, Unary):
    """All changes of a table as they are in its source: for steps that ask how a row was, or keep the last one."""

    by: Key
    tombstones: bool
    """Whether a row is removed by its key alone."""
    timed: bool = True

    @cached_property
    def columns(self) -> Columns:
        return (*self.input.columns, *plain(VERSION if self.timed else VERSION[:2]))

    @cached_property
    def key(self) -> Key | None:
        return self.by

    def reads(self, needed: set[str]) -> list[set[str]]:
        return [needed - set(VERSION)]


@dataclass(frozen=True, eq=False)
class Alias(Stateless, Unary):
    labels = whole = row_for_row = True

    alias: str

    @cached_property
    def columns(self) -> Columns:
        return under(self.input.columns, self.alias)


@dataclass(frozen=True, eq=False)
class Project(Stateless, Unary):
    row_for_row = True

    exprs: tuple[NamedExpr, ...]

    @cached_property
    def columns(self) -> Columns:
        return plain(part.name for part in self.exprs)

    @cached_property
    def key(self) -> Key | None:
        """Kept if all its fields pass through unchanged, whatever they are called now."""
        if self.input.key is None:
            return None
        carried = {next(iter(part.expr.fields)): part.name for part in self.exprs if is_field(part.expr)}
        names = [carried.get(name) for name in self.input.key]
        return tuple(name for name in names if name is not None) if None not in names else None

    @cached_property
    def event_time(self) -> str | None:
        below = self.input.event_time
        return next((part.name for part in self.exprs if below and part.expr.sql == field(below)), None)

    def reads(self, needed: set[str]) -> list[set[str]]:
        return [set().union(*(part.expr.fields for part in self.exprs if part.name in needed))]


@dataclass(frozen=True, eq=False)
class Filter(Stateless, Unary):
    whole = True

    condition: Expr

    def reads(self, needed: set[str]) -> list[set[str]]:
        return [needed | self.condition.fields]


@dataclass(frozen=True, eq=False)
class Explode(Stateless, Unary):
    """One row per element of an array; the element is a new column."""

    array: Expr
    element: str

    @cached_property
    def columns(self) -> Columns:
        return (*self.input.columns, *plain([self.element]))

    @cached_property
    def key(self) -> Key | None:
        return None

    def reads(self, needed: set[str]) -> list[set[str]]:
        return [(needed - {self.element}) | self.array.fields]


@dataclass(frozen=True, eq=False)
class Changes(Stateless, Unary):
    """A table's changes as facts: what was done to each row, insert or delete, is a column of it."""

    op: str

    @cached_property
    def columns(self) -> Columns:
        return (*plain([self.op]), *self.input.columns)

    @cached_property
    def append_only(self) -> bool:
        return True

    @cached_property
    def key(self) -> Key | None:
        return None

    @cached_property
    def event_time(self) -> str | None:
        return None

    def reads(self, needed: set[str]) -> list[set[str]]:
        return [needed - {self.op}]


@dataclass(frozen=True, eq=False)
class Copies(Explode):
    """Several copies of each row, with the number of the copy."""

    @cached_property
    def key(self) -> Key | None:
        return (*self.input.key, self.element) if self.input.key else None


@dataclass(frozen=True, eq=False)
class Hops(Explode):
    """Each row once per window that it is in, with the window's start, in microseconds; windows overlap.

    `pane`: the start of the last of them. `shared`: in how many windows every row of a pane is, if all are in
    the same ones.
    """

    pane: Expr
    every_ms: int
    shared: int | None


@dataclass(frozen=True, eq=False)
class Union(Node):
    parts: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    @cached_property
    def columns(self) -> Columns:
        return self.parts[0].columns

    @cached_property
    def event_time(self) -> str | None:
        times = {part.event_time for part in self.parts}
        return times.pop() if len(times) == 1 else None

    @cached_property
    def lag(self) -> int | None:
        return max((part.lag for part in self.parts if part.lag is not None), default=None)


@dataclass(frozen=True, eq=False)
class Keep(Stateless, Unary):
    """Only the fields that are needed further on; names and aliases stay."""

    row_for_row = True

    kept: tuple[str, ...]

    @cached_property
    def columns(self) -> Columns:
        return tuple(column for column in self.input.columns if column.field in self.kept)

    @cached_property
    def key(self) -> Key | None:
        return self.input.key if self.input.key and set(self.input.key) <= set(self.kept) else None

    @cached_property
    def event_time(self) -> str | None:
        return self.input.event_time if self.input.event_time in self.kept else None


@dataclass(frozen=True, eq=False)
class Sink(Unary):
    options: SinkOptions
    mode: WriteMode

    def reads(self, needed: set[str]) -> list[set[str]]:
        return [set(self.input.carries)]


def is_field(expr: Expr) -> bool:
    return isinstance(expr.tree, exp.Column)
