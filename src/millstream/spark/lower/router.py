"""Routers: stateless SQL between stages. One scan, however many operators read it.

one route      plain select and where
several        each step a struct column (NULL where the row drops out), then one row per route that is left:

               row ─▶ _n0 ─┬─▶ _n1 (where …) ─▶ to port 0
                           └─▶ _n2 (select …) ─▶ to port 1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType

from millstream.plan.expressions import Expr, field
from millstream.plan.lookup import Lookup
from millstream.plan.node import Node
from millstream.plan.nodes import Alias, Changes, DeadLetters, Declared, Explode, Filter, Keep, Project, Timed, Versions
from millstream.plan.python import Call
from millstream.spark.lower.call import argument, registered
from millstream.spark.lower.frames import OP, hidden, static_rows, steps, version_fields
from millstream.spark.lower.lookup import FOUND, Known
from millstream.spark.lower.ports import Unpacked
from millstream.spark.lower.types import cast, named_struct


@dataclass(frozen=True)
class Cell:
    """A column of the rows that go on: SQL over the fields of the route's last step, and its type if that is set."""

    name: str
    sql: str
    type: DataType | None

    def typed(self, sql: str) -> str:
        return cast(sql, self.type) if self.type is not None else sql


@dataclass(frozen=True)
class Lane:
    """A route with all that is needed to walk it: how to read the producer, the steps, what comes out."""

    tag: int | None
    unpacked: Unpacked | None
    steps: tuple[Node, ...]
    cells: tuple[Cell, ...] = ()
    condition: str | None = None


def rows_of(frame: DataFrame, lane: Lane) -> DataFrame:
    """The rows of a lane's last step, by itself."""
    if lane.unpacked is not None:
        if lane.tag is not None:
            frame = frame.where(f"`_op` = {lane.tag}")
        if lane.unpacked.condition:
            frame = frame.where(lane.unpacked.condition)
        frame = frame.selectExpr("`_w`", *(f"{sql} AS {field(name)}" for name, sql in lane.unpacked.fields))
    return steps(frame, lane.steps)


def route(frame: DataFrame, lanes: Sequence[Lane]) -> DataFrame:
    """The rows that go on, of all lanes, in the target's columns."""
    if len(lanes) > 1:
        return FanOut(frame).route(lanes)
    (lane,) = lanes
    rows = rows_of(frame, lane)
    if lane.condition:
        rows = rows.where(lane.condition)
    return rows.selectExpr(*(f"{cell.typed(cell.sql)} AS {field(cell.name)}" for cell in lane.cells))


class FanOut:
    """Several lanes from one frame, with each step of each lane computed once."""

    def __init__(self, frame: DataFrame) -> None:
        self.frame = self.read = frame
        self.whole = list(frame.columns)
        self.made: dict[tuple[object, ...], tuple[str, bool]] = {}

    def route(self, lanes: Sequence[Lane]) -> DataFrame:
        wanted = [first_condition(lane) for lane in lanes]
        if all(wanted):
            # Rows that no lane wants are dropped before anything is made of them.
            self.frame = self.frame.where(" OR ".join(f"({condition})" for condition in dict.fromkeys(wanted)))
        ones: list[str] = []
        manies: list[str] = []
        for lane in lanes:
            name, many = self.walk(lane)
            (manies if many else ones).append(self.last(lane, name, many))
        parts = [f"array({', '.join(ones)})"] if ones else []
        together = f"concat({', '.join([*parts, *manies])})" if manies else parts[0]
        return self.frame.selectExpr(f"inline(filter({together}, `_x` -> `_x` IS NOT NULL))")

    def walk(self, lane: Lane) -> tuple[str, bool]:
        """The column that holds the lane's last step, and whether it holds many rows."""
        path: tuple[object, ...] = (
            lane.tag,
            lane.unpacked,
            bool(lane.steps and isinstance(lane.steps[0], DeadLetters)),
        )
        at = self.column(path, lambda: (self.first(lane), False))
        for i, node in enumerate(lane.steps):
            if isinstance(node, Alias | Declared | Timed):
                continue
            path = (*path, node)
            before = at
            if isinstance(node, Call):
                at = self.call(path, node, *before)
                continue
            if isinstance(node, Lookup):
                rows = rows_of(self.read, replace(lane, steps=lane.steps[:i]))
                at = self.look_up(path, Known(node, rows, static_rows(node.right, rows.sparkSession)), *before)
                continue
            at = self.column(path, lambda node=node, before=before: self.step(node, *before))  # type: ignore[misc]
        return at

    def column(self, path: tuple[object, ...], build: Callable[[], tuple[str, bool]]) -> tuple[str, bool]:
        if path not in self.made:
            name = f"_n{len(self.made)}"
            sql, many = build()
            self.frame = self.frame.selectExpr("*", f"{sql} AS `{name}`")
            self.made[path] = (name, many)
        return self.made[path]

    def first(self, lane: Lane) -> str:
        if lane.unpacked is None:
            struct = named_struct([(name, field(name)) for name in self.whole])
            if "_bad" not in self.whole:
                return struct
            dead = bool(lane.steps) and isinstance(lane.steps[0], DeadLetters)
            return f"CASE WHEN `_bad` IS {'NOT NULL' if dead else 'NULL'} THEN {struct} END"
        struct = named_struct([("_w", "`_w`"), *lane.unpacked.fields])
        conditions = [f"`_op` = {lane.tag}"] if lane.tag is not None else []
        conditions += [f"({lane.unpacked.condition})"] if lane.unpacked.condition else []
        return f"CASE WHEN {' AND '.join(conditions)} THEN {struct} END" if conditions else struct

    def call(self, path: tuple[object, ...], node: Call, name: str, many: bool) -> tuple[str, bool]:
        """A user's function is called once, for all rows of a column; its results are put beside their rows."""
        rows = f"transform(`{name}`, `_r` -> {argument(node, '_r')})"
        if not many:
            rows = f"CASE WHEN `{name}` IS NOT NULL THEN array({argument(node, name)}) END"
        calls, _ = self.column(
            (*path, "called"), lambda: (f"{registered(node, self.frame.sparkSession)}({rows})", True)
        )
        row = f"`{name}`[`_c`.`i`]" if many else f"`{name}`"
        kept = [(part, f"{row}.{field(part)}") for part in ("_w", *node.input.carries)]
        element = named_struct([*kept, ("_called", "`_c`")])
        return self.column(path, lambda: (f"transform(coalesce(`{calls}`, array()), `_c` -> {element})", True))

    def look_up(self, path: tuple[object, ...], known: Known, name: str, many: bool) -> tuple[str, bool]:
        """Rows are looked up first, all of a column's, and then put beside those that asked."""
        row = "_r" if many else name

        def place(part: str) -> str:
            return f"`{row}`.{field(part)}"

        asked = known.ask(place)
        if many:
            asked = f"transform(`{name}`, `_r` -> {asked})"
        listed, _ = self.column((*path, "listed"), lambda: (asked, True))
        riding = [(part, place(part)) for part in self.riding()]
        element = named_struct([*riding, *known.fields(place)])
        found = f"`{listed}`[`_i`]" if many else f"`{listed}`"
        rows = f"transform({known.answers(found, place)}, `{FOUND}` -> {element})"
        if many:
            return self.column(path, lambda: (f"flatten(transform(`{name}`, (`_r`, `_i`) -> {rows}))", True))
        return self.column(path, lambda: (f"CASE WHEN `{name}` IS NOT NULL THEN {rows} ELSE array() END", True))

    def step(self, node: Node, name: str, many: bool) -> tuple[str, bool]:
        if many:
            return self.step_of_many(node, name), True
        if isinstance(node, Explode):
            element = named_struct([*self.kept(node, name), (node.element, "`_e`")])
            array = node.array.over(lambda part: f"`{name}`.{field(part)}")
            return f"transform(coalesce({array}, array()), `_e` -> {element})", True
        return self.step_of_one(node, name), False

    def step_of_one(self, node: Node, name: str) -> str:
        def place(part: str) -> str:
            return f"`{name}`.{field(part)}"

        if isinstance(node, Filter):
            return f"CASE WHEN {node.condition.over(place)} THEN `{name}` END"
        return f"CASE WHEN `{name}` IS NOT NULL THEN {named_struct(self.fields(node, name, place))} END"

    def step_of_many(self, node: Node, name: str) -> str:
        def place(part: str) -> str:
            return f"`_r`.{field(part)}"

        if isinstance(node, Filter):
            return f"filter(`{name}`, `_r` -> {node.condition.over(place)})"
        if isinstance(node, Explode):
            inner = named_struct([*self.kept(node, "_r"), (node.element, "`_e`")])
            array = f"coalesce({node.array.over(place)}, array())"
            return f"flatten(transform(`{name}`, `_r` -> transform({array}, `_e` -> {inner})))"
        return f"transform(`{name}`, `_r` -> {named_struct(self.fields(node, '_r', place))})"

    def fields(self, node: Node, name: str, place: Callable[[str], str]) -> list[tuple[str, str]]:
        riding = [(part, f"`{name}`.{field(part)}") for part in self.riding()]
        if isinstance(node, Project):
            return riding + [(part.name, part.expr.over(place)) for part in node.exprs]
        if isinstance(node, Versions):
            return riding + [(part, Expr(sql).over(place)) for part, sql in version_fields(node)]
        if isinstance(node, Changes):
            changed = [("_w", f"abs(`{name}`.`_w`)"), (node.op, Expr(OP).over(place))]
            return changed + [(part, place(part)) for part in node.input.carries]
        if isinstance(node, DeadLetters):
            return riding + [(part, f"`{name}`.`_bad`.{field(part)}") for part in node.carries]
        assert isinstance(node, Keep)
        return self.kept(node, name)

    def kept(self, node: Keep | Explode, name: str) -> list[tuple[str, str]]:
        fields = node.carries if isinstance(node, Keep) else node.input.carries
        return [(part, f"`{name}`.{field(part)}") for part in (*self.riding(), *fields)]

    def riding(self) -> list[str]:
        """The hidden columns that go along with a row."""
        ours = [part.strip("`") for part in hidden(self.frame)] or ["_w"]
        return [part for part in ours if part != "_bad"]

    def last(self, lane: Lane, name: str, many: bool) -> str:
        row = "_r" if many else name

        def place(part: str) -> str:
            return f"`{row}`.{field(part)}"

        struct = named_struct([(cell.name, cell.typed(Expr(cell.sql).over(place))) for cell in lane.cells])
        condition = Expr(lane.condition).over(place) if lane.condition else None
        if many:
            kept = f"filter(`{name}`, `_r` -> {condition})" if condition else f"`{name}`"
            return f"transform({kept}, `_r` -> {struct})"
        conditions = [f"`{name}` IS NOT NULL", *([f"({condition})"] if condition else [])]
        return f"CASE WHEN {' AND '.join(conditions)} THEN {struct} END"


def first_condition(lane: Lane) -> str | None:
    """What a source's rows must meet to get into a lane, if it begins with a condition that may be asked twice."""
    steps = [node for node in lane.steps if not isinstance(node, Alias | Declared | Keep | Timed)]
    if lane.unpacked is not None or not steps or not isinstance(steps[0], Filter):
        return None
    return steps[0].condition.sql if steps[0].condition.repeatable else None
