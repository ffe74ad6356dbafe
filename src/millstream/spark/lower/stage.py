"""Stages: lays out the rows that enter, tells the kernels what to host, reads what comes out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from dataclasses import field as field_
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, IntegerType, LongType, StructField, StructType

from millstream.plan.closing import follows
from millstream.plan.cluster import SHOWS_ROWS
from millstream.plan.expressions import field
from millstream.plan.node import Stateful
from millstream.planner.stages import JobPlan, Operator, Port, Producer, Route, Stage
from millstream.spark import jvm
from millstream.spark.lower.images import images, readers, seen_by
from millstream.spark.lower.operators import LOWERINGS
from millstream.spark.lower.ports import Frames, Shape, Unpacked
from millstream.spark.lower.router import Cell, Lane, route, rows_of
from millstream.spark.lower.state import Placed, StageShape, StateShape, Variable
from millstream.spark.lower.told import Hosted, Told, as_json
from millstream.spark.lower.types import as_key, named_struct, sql_type, untimed
from millstream.spark.lower.unions import lanes

Declared = dict[str, list[dict[str, Any]]]
"""The state variables of each operator, as its kernel declares them."""


@dataclass(frozen=True)
class Output:
    """What a stage, or a source, gives: a frame, and how each producer's rows are read from it."""

    frame: DataFrame
    producers: dict[Producer, tuple[int | None, Unpacked | None]]
    """How a stage keeps state."""
    shape: StageShape | None = None
    """The routes from those producers that say for each change which readers see it."""
    seen: dict[Producer, list[Route]] = field_(default_factory=dict)

    def lane(self, route_: Route) -> Lane:
        tag, unpacked = self.producers[route_.producer]
        if unpacked is not None and route_.producer in self.seen:
            unpacked = replace(unpacked, condition=seen_by(self.seen[route_.producer], route_))
        return Lane(tag, unpacked, route_.steps)


def lower_stage(
    plan: JobPlan,
    stage: Stage,
    upstream: list[Output],
    spark: SparkSession,
    combine: bool,
    ticks: DataFrame | None = None,
) -> Output:
    """`ticks`: a source that has something new every second, so that epochs go by when no rows come."""
    shapes = Shapes(stage, upstream)
    layout = Layout(stage, shapes)
    routed: DataFrame | None = None
    for output in upstream:
        own = [layout.lane(route_) for route_ in stage.routes if route_.producer in output.producers]
        if own:
            part = route(output.frame, own)
            routed = part if routed is None else routed.unionByName(part)
    assert routed is not None
    if ticks is not None:
        routed = routed.unionByName(layout.nothing(ticks))
    seen = {op: images(plan, op, shapes.unpack(op, "`row`")) for op in stage.operators}
    hosted = [layout.hosted(operator, plan.upserted(operator), seen[operator]) for operator in stage.operators]
    own_rows = [(i, op) for i, op in enumerate(stage.operators) if isinstance(op, Stateful)]
    shown = {i: as_people_see(shapes.unpack(op, "`row`")) for i, op in own_rows}
    frame, declared = host(routed, hosted, spark, combine, plan.timed, shown)
    several = len(stage.operators) > 1
    producers: dict[Producer, tuple[int | None, Unpacked | None]] = {}
    for i, operator in enumerate(stage.operators):
        producers[operator] = (i if several else None, shapes.unpack(operator, f"`_o{i}`"))
    told: dict[Producer, list[Route]] = {op: readers(plan, op) for op in stage.operators if seen[op]}
    return Output(frame, producers, layout.stage_shape(declared, plan.timed), told)


def host(
    routed: DataFrame, hosted: list[Hosted], spark: SparkSession, combine: bool, timed: bool, shown: Mapping[int, str]
) -> tuple[DataFrame, Declared]:
    """The stage's rows, and the state variables that each of its operators declares. `shown`: by operator, how people
    see its rows, where they may."""
    stage = jvm.named("millstream.stage.Stage").of(routed._jdf, as_json(hosted), combine)
    for operator, sql in shown.items() if spark.conf.get(SHOWS_ROWS, "false") == "true" else ():
        stage.show(operator, sql, spark._jsparkSession)
    return DataFrame(stage.apply(routed._jdf, timed), spark), json.loads(stage.declared())


def as_people_see(unpacked: Unpacked) -> str:
    """An operator's row with the columns that it has in the job."""
    values = ", ".join(f"{sql} AS {field(name)}" for name, sql in unpacked.fields)
    return f"STRUCT({values or '1 AS `_`'})"


class Shapes:
    """For each operator: the rows that come in, by themselves, and what it needs from them."""

    def __init__(self, stage: Stage, upstream: list[Output]) -> None:
        self.lanes = lanes(stage.routes, upstream)
        self.rows: dict[Port, DataFrame] = {}
        for route_ in stage.routes:
            assert isinstance(route_.to, Port)
            if route_.to not in self.rows:
                output = next(output for output in upstream if route_.producer in output.producers)
                self.rows[route_.to] = rows_of(output.frame, self.lanes[route_])
        self.ports: dict[Port, Shape] = {}
        for operator in stage.operators:
            for side, shape in enumerate(self.shapes(operator)):
                self.ports[Port(operator, side)] = shape

    def frames(self, operator: Operator) -> Frames:
        ports = sorted((port for port in self.rows if port.operator == operator), key=lambda port: port.side)
        return tuple(self.rows[port] for port in ports)

    def shapes(self, operator: Operator) -> tuple[Shape, ...]:
        return LOWERINGS[type(operator)].shapes(operator, self.frames(operator))

    def unpack(self, operator: Operator, struct: str) -> Unpacked:
        return LOWERINGS[type(operator)].unpack(operator, self.frames(operator), struct)

    def told(self, operator: Operator) -> Told:
        return LOWERINGS[type(operator)].told(operator, self.frames(operator))


class Layout:
    """The columns of the rows that enter a stage: tag, key slots, port, weight, payloads. See Layout.java."""

    def __init__(self, stage: Stage, shapes: Shapes) -> None:
        self.stage = stage
        self.shapes = shapes
        self.ports = list(shapes.ports)
        self.slots: list[DataType] = []
        self.places = {operator: self.place(shapes.ports[Port(operator)]) for operator in stage.operators}
        self.gathers = any(LOWERINGS[type(operator)].gathers for operator in stage.operators)
        if self.gathers:
            # For the number in a task's last row; see Last.java.
            self.slots.append(IntegerType())

    def place(self, shape: Shape) -> list[int]:
        """A slot for each key column; operators share slots of the same type."""
        taken: list[int] = []
        for type_ in shape.key_types:
            free = (i for i, slot in enumerate(self.slots) if slot == type_ and i not in taken)
            slot = next(free, len(self.slots))
            if slot == len(self.slots):
                self.slots.append(type_)
            taken.append(slot)
        return taken

    @property
    def tagged(self) -> bool:
        return len(self.stage.operators) > 1 or self.gathers

    def lane(self, route_: Route) -> Lane:
        assert isinstance(route_.to, Port)
        shape = self.shapes.ports[route_.to]
        return replace(self.shapes.lanes[route_], cells=tuple(self.cells(route_.to)), condition=shape.condition)

    def cells(self, port: Port) -> list[Cell]:
        shape = self.shapes.ports[port]
        tag = Cell("_op", str(self.stage.operators.index(port.operator)), IntegerType())
        which = Cell("_port", str(self.ports.index(port)), IntegerType())
        keys = ["NULL"] * len(self.slots)
        for slot, key in zip(self.places[port.operator], shape.keys, strict=True):
            keys[slot] = key
        typed = enumerate(zip(keys, self.slots, strict=True))
        slots = [Cell(f"_k{i}", untimed(as_key(sql, type_), type_), type_) for i, (sql, type_) in typed]
        payloads = [Cell(f"_p{i}", self.payload(other, port), self.type(other)) for i, other in enumerate(self.ports)]
        weight = Cell("_w", "`_w`", LongType())
        return [
            *([tag] if self.tagged else []),
            *slots,
            *([which] if len(self.ports) > 1 else []),
            weight,
            *payloads,
        ]

    def nothing(self, ticks: DataFrame) -> DataFrame:
        """No rows, from a source that Spark must read anyway."""
        cells = self.cells(self.ports[0])
        return ticks.selectExpr(*(f"{cell.typed('NULL')} AS {field(cell.name)}" for cell in cells))

    def payload(self, column: Port, port: Port) -> str:
        return named_struct(self.shapes.ports[port].payload) if column == port else "NULL"

    def type(self, port: Port) -> DataType:
        shape = self.shapes.ports[port]
        named = zip(shape.payload, shape.payload_types, strict=True)
        return StructType([StructField(name, type_) for (name, _), type_ in named])

    def hosted(self, operator: Operator, upserts: bool, images: tuple[str | None, ...]) -> Hosted:
        first = 1 if self.tagged else 0
        return Hosted(
            name=operator.name,
            keys=tuple(first + slot for slot in self.places[operator]),
            port=self.ports.index(Port(operator)),
            upserts=upserts,
            follows=isinstance(operator, Stateful) and follows(operator),
            images=images,
            told=self.shapes.told(operator),
        )

    def stage_shape(self, declared: Declared, timed: bool) -> StageShape:
        found = {operator.name: self.placed(operator, declared[operator.name]) for operator in self.stage.operators}
        stateful = {name: placed for name, placed in found.items() if placed.state.variables}
        key = (*(["tag"] if self.tagged else []), *map(sql_type, self.slots))
        return StageShape(key, timed, stateful)

    def placed(self, operator: Operator, declared: list[dict[str, Any]]) -> Placed:
        lowering = LOWERINGS[type(operator)]
        kept = lowering.kept(operator)
        key = tuple(sql_type(type_) for type_ in self.shapes.ports[Port(operator)].key_types)
        frames = self.shapes.frames(operator)
        computes = lowering.computes(operator, frames) if lowering.computes else {}
        results = lowering.results(operator, frames) if lowering.results else {}
        variables = tuple(Variable(**part) for part in declared)
        state = StateShape(kept.by, key, variables, kept.means, computes, lowering.layout, results)
        tag = self.stage.operators.index(operator) if self.tagged else None
        return Placed(tag, tuple(self.places[operator]), state)
