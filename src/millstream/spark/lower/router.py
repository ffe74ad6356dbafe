"""Routers: stateless SQL between stages. One scan, however many operators read it.

one route      plain select and where
several        each step a struct column (NULL where the row drops out), then one row per route that is left:

               row ─▶ _n0 ─┬─▶ _n1 (where …) ─▶ to port 0
                           └─▶ _n2 (select …) ─▶ to port 1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatchmethod

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType

from millstream.plan.changing import repeatable
from millstream.plan.expressions import Expr, field
from millstream.plan.lookup import Lookup
from millstream.plan.node import Node, Stateless
from millstream.plan.nodes import Changes, DeadLetters, Explode, Filter, Keep, Project, Versions
from millstream.plan.python import Call
from millstream.spark.lower.call import argument, of_lists
from millstream.spark.lower.frames import OP, hidden, static_rows, steps, version_fields
from millstream.spark.lower.lookup import FOUND, Known
from millstream.spark.lower.ports import Unpacked
from millstream.spark.lower.types import cast, named_struct

Path = tuple[object, ...]
"""What a column was made of, from the frame on: the same path is the same column."""
Made = tuple[str, bool]
"""A column's name, or its SQL, and whether it holds many rows."""


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
    steps: tuple[Stateless, ...]
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
        return FanOut(*before_parting(frame, lanes)).route()
    (lane,) = lanes
    rows = rows_of(frame, lane)
    if lane.condition:
        rows = rows.where(lane.condition)
    return rows.selectExpr(*(f"{cell.typed(cell.sql)} AS {field(cell.name)}" for cell in lane.cells))


def before_parting(frame: DataFrame, lanes: Sequence[Lane]) -> tuple[DataFrame, list[Lane]]:
    """Users' functions that all lanes have in common are called on the frame, where rows need not go in lists."""
    first, together = lanes[0], 0
    if all((lane.tag, lane.unpacked) == (first.tag, first.unpacked) for lane in lanes):
        for nodes in zip(*(lane.steps for lane in lanes), strict=False):
            if any(node != nodes[0] for node in nodes):
                break
            together += 1
    while together and not isinstance(first.steps[together - 1], Call):
        together -= 1
    if not together:
        return frame, list(lanes)
    rows = rows_of(frame, replace(first, steps=first.steps[:together]))
    return rows, [replace(lane, tag=None, unpacked=None, steps=lane.steps[together:]) for lane in lanes]


class FanOut:
    """Several lanes from one frame, with each step of each lane computed once."""

    def __init__(self, frame: DataFrame, lanes: Sequence[Lane]) -> None:
        self.frame = self.read = frame
        self.lanes = lanes
        self.whole = list(frame.columns)
        self.made: dict[Path, Made] = {}

    def route(self) -> DataFrame:
        wanted = [first_condition(lane) for lane in self.lanes]
        if all(wanted):
            # Rows that no lane wants are dropped before anything is made of them.
            self.frame = self.frame.where(" OR ".join(f"({condition})" for condition in dict.fromkeys(wanted)))
        ones: list[str] = []
        manies: list[str] = []
        for lane in self.lanes:
            name, many = self.walk(lane)
            (manies if many else ones).append(self.last(lane, name, many))
        parts = [f"array({', '.join(ones)})"] if ones else []
        together = f"concat({', '.join([*parts, *manies])})" if manies else parts[0]
        return self.frame.selectExpr(f"inline(filter({together}, `_x` -> `_x` IS NOT NULL))")

    def walk(self, lane: Lane) -> Made:
        """The column that holds the lane's last step, and whether it holds many rows."""
        path: Path = (lane.tag, lane.unpacked, bool(lane.steps and isinstance(lane.steps[0], DeadLetters)))
        at = self.column(path, lambda: (self.first(lane), False))
        for i, node in enumerate(lane.steps):
            if not node.labels:
                path = (*path, node)
                at = self.step(node, path, at, replace(lane, steps=lane.steps[:i]))
        return at

    def column(self, path: Path, build: Callable[[], Made]) -> Made:
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

    @singledispatchmethod
    def step(self, node: Node, path: Path, at: Made, before: Lane) -> Made:
        """The column of a step over the one at which the rows before it are."""
        raise TypeError(f"{type(node).__name__} is not a stateless step")

    @step.register
    def call(self, node: Call, path: Path, at: Made, before: Lane) -> Made:
        """A user's function is called once, for all rows of a column; its results are put beside their rows."""
        name, many = at
        rows = f"transform(`{name}`, `_r` -> {argument(node, '_r')})"
        if not many:
            rows = f"CASE WHEN `{name}` IS NOT NULL THEN array({argument(node, name)}) END"
        calls = self.called(node, (*path, "called"), rows)
        row = f"`{name}`[`_c`.`i`]" if many else f"`{name}`"
        kept = [(part, f"{row}.{field(part)}") for part in ("_w", *node.input.carries)]
        element = named_struct([*kept, ("_called", "`_c`")])
        return self.column(path, lambda: (f"transform(coalesce(`{calls}`, array()), `_c` -> {element})", True))

    def called(self, node: Call, path: Path, lists: str) -> str:
        """The column with the function's results."""
        if path not in self.made:
            name = f"_n{len(self.made)}"
            self.frame = of_lists(node, self.frame, lists, name)
            self.made[path] = (name, True)
        return self.made[path][0]

    @step.register
    def look_up(self, node: Lookup, path: Path, at: Made, before: Lane) -> Made:
        """Rows are looked up first, all of a column's, and then put beside those that asked."""
        name, many = at
        rows = rows_of(self.read, before)
        known = Known(node, rows, static_rows(node.right, rows.sparkSession))
        place = fields_of("_r" if many else name)
        asked = known.ask(place)
        if many:
            asked = f"transform(`{name}`, `_r` -> {asked})"
        listed, _ = self.column((*path, "listed"), lambda: (asked, True))
        element = named_struct([*self.kept((), place), *known.fields(place)])
        found = f"`{listed}`[`_i`]" if many else f"`{listed}`"
        answers = f"transform({known.answers(found, place)}, `{FOUND}` -> {element})"
        if many:
            return self.column(path, lambda: (f"flatten(transform(`{name}`, (`_r`, `_i`) -> {answers}))", True))
        return self.column(path, lambda: (f"CASE WHEN `{name}` IS NOT NULL THEN {answers} ELSE array() END", True))

    @step.register
    def explode(self, node: Explode, path: Path, at: Made, before: Lane) -> Made:
        name, many = at
        place = fields_of("_r" if many else name)
        element = named_struct([*self.kept(node.input.carries, place), (node.element, "`_e`")])
        elements = f"transform(coalesce({node.array.over(place)}, array()), `_e` -> {element})"
        sql = f"flatten(transform(`{name}`, `_r` -> {elements}))" if many else elements
        return self.column(path, lambda: (sql, True))

    @step.register
    def filter(self, node: Filter, path: Path, at: Made, before: Lane) -> Made:
        name, many = at
        condition = node.condition.over(fields_of("_r" if many else name))
        sql = f"filter(`{name}`, `_r` -> {condition})" if many else f"CASE WHEN {condition} THEN `{name}` END"
        return self.column(path, lambda: (sql, many))

    @step.register
    def project(self, node: Project, path: Path, at: Made, before: Lane) -> Made:
        place = fields_of("_r" if at[1] else at[0])
        made = [(part.name, part.expr.over(place)) for part in node.exprs]
        return self.struct(path, at, [*self.kept((), place), *made])

    @step.register
    def keep(self, node: Keep, path: Path, at: Made, before: Lane) -> Made:
        return self.struct(path, at, self.kept(node.carries, fields_of("_r" if at[1] else at[0])))

    @step.register
    def versions(self, node: Versions, path: Path, at: Made, before: Lane) -> Made:
        place = fields_of("_r" if at[1] else at[0])
        made = [(part, Expr(sql).over(place)) for part, sql in version_fields(node)]
        return self.struct(path, at, [*self.kept((), place), *made])

    @step.register
    def changes(self, node: Changes, path: Path, at: Made, before: Lane) -> Made:
        place = fields_of("_r" if at[1] else at[0])
        made = [("_w", f"abs({place('_w')})"), (node.op, Expr(OP).over(place))]
        return self.struct(path, at, made + [(part, place(part)) for part in node.input.carries])

    @step.register
    def dead_letters(self, node: DeadLetters, path: Path, at: Made, before: Lane) -> Made:
        place = fields_of("_r" if at[1] else at[0])
        made = [(part, f"{place('_bad')}.{field(part)}") for part in node.carries]
        return self.struct(path, at, [*self.kept((), place), *made])

    def struct(self, path: Path, at: Made, fields: list[tuple[str, str]]) -> Made:
        """A row of these fields for each row."""
        name, many = at
        made = named_struct(fields)
        sql = f"transform(`{name}`, `_r` -> {made})" if many else f"CASE WHEN `{name}` IS NOT NULL THEN {made} END"
        return self.column(path, lambda: (sql, many))

    def kept(self, fields: tuple[str, ...], place: Callable[[str], str]) -> list[tuple[str, str]]:
        """The hidden columns, and fields that go on as they are."""
        return [(part, place(part)) for part in (*self.riding(), *fields)]

    def riding(self) -> list[str]:
        """The hidden columns that go along with a row."""
        ours = [part.strip("`") for part in hidden(self.frame)] or ["_w"]
        return [part for part in ours if part != "_bad"]

    def last(self, lane: Lane, name: str, many: bool) -> str:
        place = fields_of("_r" if many else name)
        struct = named_struct([(cell.name, cell.typed(Expr(cell.sql).over(place))) for cell in lane.cells])
        condition = Expr(lane.condition).over(place) if lane.condition else None
        if many:
            kept = f"filter(`{name}`, `_r` -> {condition})" if condition else f"`{name}`"
            return f"transform({kept}, `_r` -> {struct})"
        conditions = [f"`{name}` IS NOT NULL", *([f"({condition})"] if condition else [])]
        return f"CASE WHEN {' AND '.join(conditions)} THEN {struct} END"


def fields_of(row: str) -> Callable[[str], str]:
    """How the fields of a struct are named in SQL."""
    return lambda part: f"`{row}`.{field(part)}"


def first_condition(lane: Lane) -> str | None:
    """What a source's rows must meet to get into a lane, if it begins with a condition that may be asked twice."""
    steps = [node for node in lane.steps if not node.labels and not isinstance(node, Keep)]
    if lane.unpacked is not None or not steps or not isinstance(steps[0], Filter):
        return None
    return steps[0].condition.sql if repeatable(steps[0].condition) else None
