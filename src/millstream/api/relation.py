"""What users build jobs from: streams, tables, and the grouped forms in between."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, overload

from millstream.api.static import Static
from millstream.plan import build, joins, operators, python, sets, sinks, times, top, windows
from millstream.plan import enrich as enriching
from millstream.plan.connectors import SinkOptions
from millstream.plan.errors import Step, here
from millstream.plan.expressions import NamedExpr
from millstream.plan.given import refuse_no_sink
from millstream.plan.modes import milliseconds
from millstream.plan.node import Node
from millstream.plan.windows import Window, Windowed

if TYPE_CHECKING:
    from millstream.api.job import Job
    from millstream.api.keyed import KeyedStream


class Relation:
    """Rows with columns. Every method gives a new relation and leaves this one as it is."""

    def __init__(self, job: Job, node: Node) -> None:
        self._job = job
        self._node = node

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column.label for column in self._node.columns)

    def __repr__(self) -> str:
        key = f" by {', '.join(self._node.key)}" if self._node.key and not self._node.append_only else ""
        return f"<{type(self).__name__} {self._node.name}({', '.join(self.columns)}){key}>"

    def _same(self, node: Node) -> Self:
        return type(self)(self._job, node)

    def _other(self, other: Relation | Static, call: str, kinds: tuple[type, ...] = ()) -> Node:
        """Another relation's node. `kinds`: what is allowed besides streams and tables."""
        step = Step(call, here())
        if not isinstance(other, (Relation, *kinds)):
            hint = "streams are enriched from it: enrich(…)" if isinstance(other, Static) else None
            raise step.error("MS-PLAN-007", f"was given a {type(other).__name__}, not a stream or table.", hint=hint)
        if other._job is not self._job:
            raise step.error(
                "MS-PLAN-007",
                f'puts together relations of two jobs, "{self._job.name}" and "{other._job.name}".',
                hint="declare both sources on one job",
            )
        return other._node

    def named(self, name: str, *, was: str | None = None) -> Self:
        """Names the last step. Its state is found again by that name when the job changes. `was`: the name that the
        step had when a savepoint was taken."""
        step = Step(name, here())
        if was is not None:
            self._job._was[name] = was
        if not name.replace("_", "").isalnum() or not name[:1].isalpha():
            raise step.error("MS-PLAN-003", f"cannot be called {name!r}.", hint="use letters, digits and _")
        return self._same(build.named(self._node, name))

    def as_(self, alias: str) -> Self:
        """The same rows under an alias, as in SQL."""
        return self._same(build.alias(self._node, alias))

    def select(self, *columns: str, **named: str) -> Self:
        """Columns by name, and new ones by expression: `select("a.liker", at="greatest(a.at, b.at)")`."""
        return self._same(build.select(self._node, columns, named))

    def with_columns(self, **named: str) -> Self:
        """All columns, and some more."""
        return self._same(build.with_columns(self._node, named))

    def where(self, condition: str) -> Self:
        return self._same(build.where(self._node, condition))

    def explode(self, array: str, as_: str) -> Self:
        """One row per element of an array."""
        return self._same(build.explode(self._node, array, as_))

    def map(
        self,
        function: Callable[[Any], Any],
        schema: str,
        *,
        batches: bool = False,
        on_error: str | SinkOptions = "fail",
        name: str | None = None,
        time: str | None = None,
    ) -> Self:
        """A new row for each row, by a Python function: `map(lambda row: {"n": row.a + 1}, schema="n BIGINT")`.

        `batches`: the function takes and returns Arrow batches. `on_error`: "fail", "skip", or a sink for dead letters.
        `time`: the column of the new rows that is their event time.
        """
        return self._called("map", function, schema, batches, on_error, name, time)

    def map_async(
        self,
        function: Callable[[Any], Awaitable[Any]],
        schema: str,
        *,
        in_flight: int = 64,
        timeout: str = "30 seconds",
        retries: int = 0,
        ordered: bool = True,
        on_error: str | SinkOptions = "fail",
        name: str | None = None,
        time: str | None = None,
    ) -> Self:
        """A new row for each row, by an async function, to call services and models.

        Up to `in_flight` rows of a task are awaited at once; results come in the rows' order, or, if not `ordered`, as
        soon as they arrive. A call that takes longer than `timeout`, or fails, is repeated up to `retries` times, after
        a pause that doubles. The rest is as for `map`.
        """
        awaits = python.Awaits(in_flight, milliseconds(timeout), retries, ordered)
        return self._called("map", function, schema, False, on_error, name, time, awaits)

    def flat_map(
        self,
        function: Callable[[Any], Any],
        schema: str,
        *,
        on_error: str | SinkOptions = "fail",
        name: str | None = None,
        time: str | None = None,
    ) -> Self:
        """Any number of rows for each row: the function yields them, or returns a list."""
        return self._called("flat_map", function, schema, False, on_error, name, time)

    def filter(
        self,
        function: Callable[[Any], Any],
        *,
        batches: bool = False,
        on_error: str | SinkOptions = "fail",
        name: str | None = None,
    ) -> Self:
        """The rows for which a Python function returns True."""
        return self._called("filter", function, None, batches, on_error, name)

    def _called(
        self,
        kind: Literal["map", "flat_map", "filter"],
        function: Callable[[Any], Any],
        schema: str | None,
        batches: bool,
        on_error: str | SinkOptions,
        name: str | None,
        time: str | None = None,
        awaits: python.Awaits | None = None,
    ) -> Self:
        step = Step(name or ("map_async" if awaits else kind), here())
        policy, sink = python.error_policy(on_error, step)
        if awaits is not None:
            python.refuse_no_awaits(awaits, step)
        code = self._job._codes.code(function)
        call = python.call(self._node, kind, code, schema, batches, policy, name, step, awaits)
        if sink is not None:
            self._job._add(sinks.sink(python.failed(call), sink, None, f"{sink.label}_of_{call.name}"))
        return self._same(times.timed(python.called(call), time, call.schema, step))

    def group_by(self, *columns: str, **named: str) -> GroupedTable:
        keys = build.group(self._node, columns, named, Step("group_by", here()))
        return GroupedTable(self._job, self._node, keys)

    def agg(self, **named: str) -> Table:
        """One row over all rows, even if there are none: `agg(n="count(*)")`."""
        return Table(self._job, build.aggregate(self._node, (), named))

    def intersect(self, other: Relation, *, all: bool = False) -> Table:
        """Rows that both have, each once, or `all`: as often as both have them."""
        return Table(self._job, sets.intersect(self._node, self._other(other, "intersect"), all))

    def except_(self, other: Relation, *, all: bool = False) -> Table:
        """Rows that the other does not have, each once, or `all`: as often as this one has more of them."""
        return Table(self._job, sets.except_(self._node, self._other(other, "except_"), all))

    def top(self, n: int, by: str, per: str | tuple[str, ...] = (), *, rank: str | None = None) -> Table:
        """The first n rows in an order, of all or of each group: `top(3, by="price DESC, at", per="auction")`.

        Rows that are equal in that order are ordered by all their columns. `rank`: a column with each row's place, from
        1.
        """
        return Table(self._job, top.top(self._node, n, by, names(per), rank))

    def dedup(self, *keys: str, keep: str = "first", by: str | None = None) -> Table:
        """One row of those that agree in some columns, the first or the last by time: `dedup("id", keep="last")`.

        `by`: what the time is, if not the event time.
        """
        return Table(self._job, top.dedup(self._node, keys, keep, by))

    def to(self, sink: SinkOptions, *, name: str | None = None) -> None:
        """Writes to a sink: a stream as it is, a table as upserts by its key, or as a changelog if the sink is one."""
        refuse_no_sink(sink, self._node)
        self._job._add(sinks.sink(self._node, sink, None, name))

    def explain(self) -> str:
        from millstream.plan.explain import tree

        return "\n".join(tree(self._node, {}, set()))


class Stream(Relation):
    """Facts that are only ever added."""

    def union(self, *others: Stream) -> Stream:
        parts = (self._node, *(self._other(other, "union") for other in others))
        if not all(part.append_only for part in parts):
            raise Step("union", here()).error(
                "MS-PLAN-010", "adds a table, whose rows change, to a stream.", hint="write it as table.union(stream)"
            )
        return Stream(self._job, build.union(parts))

    def join(
        self, other: Relation, on: str, how: str = "inner", *, ttl: str | None = None, broadcast: bool = False
    ) -> Stream | Table:
        """Rows of both sides that agree: `likes.as_("a").join(likes.as_("b"), on="a.liker = b.liked")`.

        `how`: inner, left, right, full, semi, anti. `ttl`: for how long rows of streams are kept, in event time.
        `broadcast`: the other side is small, and copied, so that rows of one key can be joined by several tasks.
        """
        return joined(self, other, on, how, ttl, broadcast)

    def enrich(self, table: Table | Static, on: str, *, how: str = "left", as_of: str | None = None) -> Stream:
        """Each row with what a table knows about it, once: `likes.as_("l").enrich(people.as_("p"), on="l.liker =
        p.id")`.

        Rows without a match in the table get NULLs; `how="inner"` leaves them out. `as_of="l.at"`: as the table was at
        the row's time, sent when the watermark has passed it.
        """
        other = self._other(table, "enrich", (Static,))
        return Stream(self._job, enriching.enrich(self._node, other, on, how, as_of))

    def window(self, window: Window, *, allowed_lateness: str = "0 seconds") -> WindowedStream:
        """Rows by stretches of time: `window(ms.tumbling("1 minute"))`.

        Results are corrected until the watermark has passed a window's end by `allowed_lateness`. Later rows do not
        change the result: `run.late()` counts them, and `late()` gives them as a stream.
        """
        return WindowedStream(self._job, windows.windowed(self._node, window, allowed_lateness))

    @overload
    def dedup(self, *keys: str, keep: str = ..., by: str | None = ..., within: None = ...) -> Table: ...

    @overload
    def dedup(self, *keys: str, keep: str = ..., by: str | None = ..., within: str) -> Stream: ...

    def dedup(
        self, *keys: str, keep: str = "first", by: str | None = None, within: str | None = None
    ) -> Stream | Table:
        """One row of those that agree in some columns, the first or the last by time: `dedup("id", keep="last")`.

        `by`: what the time is, if not the event time. `within`: a stream again; a row is dropped if one that agrees
        with it was let through and is no further away in event time: `dedup("id", within="1 hour")`; or, with
        `keep="last"`, if one follows it no later than that, for which each row waits.
        """
        if within is None:
            return super().dedup(*keys, keep=keep, by=by)
        return Stream(self._job, top.dedup_within(self._node, keys, keep, by, within))

    def distinct(self) -> Stream:
        """Each row once."""
        return Stream(self._job, sets.distinct(self._node))

    def to_table(self, key: str | tuple[str, ...], *, delete: str | None = None, by: str | None = None) -> Table:
        """The latest row of each key: `changes.to_table("id", delete="op = 'delete'", by="at")`.

        `by`: what says which row is the latest, if not the event time. `delete`: such a row removes its key.
        """
        return Table(self._job, top.to_table(self._node, names(key), delete, by))

    def key_by(self, *columns: str, **named: str) -> KeyedStream:
        """The rows by key, for Python code with state."""
        from millstream.api.keyed import KeyedStream

        keys = build.group(self._node, columns, named, Step("key_by", here()))
        return KeyedStream(self._job, self._node, keys)


class Table(Relation):
    """A relation that changes: rows are added and taken back."""

    def key_by(self, *columns: str, **named: str) -> NoReturn:
        """Refused: a table cannot be processed row by row, because rows may be taken back."""
        raise Step("key_by", here()).error(
            "MS-PROCESS-006",
            "is to process a table, whose rows change, with Python code.",
            hint="process its changes: table.changes().key_by(…).process(…)",
        )

    @property
    def key(self) -> tuple[str, ...] | None:
        return self._node.key

    def union(self, *others: Relation) -> Table:
        return Table(self._job, build.union((self._node, *(self._other(other, "union") for other in others))))

    def distinct(self) -> Table:
        """Each row once."""
        return Table(self._job, sets.distinct(self._node))

    def changes(self, *, op: str = "op") -> Stream:
        """Every change as a fact: a row with a column that says insert or delete."""
        return Stream(self._job, build.changes(self._node, op))

    def join(
        self, other: Relation, on: str, how: str = "inner", *, ttl: str | None = None, broadcast: bool = False
    ) -> Table:
        """The join of both sides, kept right as either changes.

        `how`: inner, left, right, full, semi, anti. `ttl`: for how long rows of streams are kept, in event time.
        `broadcast`: the other side is small, and copied, so that rows of one key can be joined by several tasks.
        """
        result = joined(self, other, on, how, ttl, broadcast)
        assert isinstance(result, Table)
        return result


def names(columns: str | tuple[str, ...]) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns)


def joined(left: Relation, right: Relation, on: str, how: str, ttl: str | None, broadcast: bool) -> Stream | Table:
    node = joins.join(left._node, left._other(right, "join"), on, how, ttl, broadcast)
    return Stream(left._job, node) if node.append_only else Table(left._job, node)


class GroupedTable:
    """Rows in groups; `agg` says what to compute for each."""

    def __init__(self, job: Job, node: Node, keys: tuple[NamedExpr, ...], condition: str | None = None) -> None:
        self._job = job
        self._node = node
        self._keys = keys
        self._condition = condition

    def having(self, condition: str) -> Self:
        """Only the groups that meet a condition: `group_by("host").having("count(*) > 3").agg(cpu="avg(cpu)")`."""
        return type(self)(self._job, self._node, self._keys, condition)

    def agg(self, **named: str) -> Table:
        """One row per group: `agg(n="count(*)", cpu="avg(cpu)")`."""
        return Table(self._job, build.having(build.aggregate(self._node, self._keys, named, self._condition)))


class WindowedStream:
    """A stream in windows of time; group it further, or count each window as a whole."""

    def __init__(self, job: Job, rows: Windowed) -> None:
        self._job = job
        self._rows = rows

    def group_by(self, *columns: str, **named: str) -> WindowedGroups:
        keys = build.group(self._rows.node, columns, named, Step("group_by", here()))
        return WindowedGroups(self._job, self._rows, keys)

    def agg(self, **named: str) -> WindowedTable:
        return WindowedGroups(self._job, self._rows, ()).agg(**named)

    def late(self) -> Stream:
        """The rows that arrive after their window is closed, whole, each with `window_start` and `window_end`; and rows
        without a time, with NULLs there."""
        return Stream(self._job, operators.LateRows(None, here(), self._rows.node, self._rows.closing))


class WindowedGroups:
    """The groups of each window."""

    def __init__(self, job: Job, rows: Windowed, keys: tuple[NamedExpr, ...], condition: str | None = None) -> None:
        self._job = job
        self._rows = rows
        self._keys = keys
        self._condition = condition

    def having(self, condition: str) -> WindowedGroups:
        """Only the groups that meet a condition, of each window: `having("count(*) > 3").agg(cpu="avg(cpu)")`."""
        return WindowedGroups(self._job, self._rows, self._keys, condition)

    def agg(self, **named: str) -> WindowedTable:
        """One row per window and group, with `window_start` and `window_end`; every change is sent.

        A sliding window gives one row per group, without those columns.
        """
        return WindowedTable(self._job, windows.aggregate(self._rows, self._keys, named, self._condition))


class WindowedTable(Table):
    """The results of windows, as they change."""

    def final(self, *, time: str | None = None) -> Stream:
        """Each window's result once, when the watermark has passed its end: a stream.

        `time`: adds a column with the window's last millisecond, the stream's event time: `final(time="window_time")`.
        Windows of windows and joins within a time can follow.
        """
        return Stream(self._job, windows.final(self._node, time))
