"""Stages: lays out the rows that enter, tells the kernels what to host, reads what comes out."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, IntegerType, LongType, StructField, StructType

from millstream.plan.closing import follows
from millstream.plan.expressions import field
from millstream.plan.node import Stateful
from millstream.planner.stages import JobPlan, Operator, Port, Producer, Route, Stage
from millstream.spark.lower.operators import LOWERINGS
from millstream.spark.lower.ports import Frames, Shape, Unpacked
from millstream.spark.lower.router import Cell, Lane, route, rows_of
from millstream.spark.lower.types import as_key, cast, named_struct, sql_type, untimed
from millstream.spark.lower.unions import lanes


@dataclass(frozen=True)
class Output:
    """What a stage, or a source, gives: a frame, and how each producer's rows are read from it."""

    frame: DataFrame
    producers: dict[Producer, tuple[int | None, Unpacked | None]]
    """For each operator, the shape of its state."""
    shapes: dict[str, str]

    def lane(self, route_: Route) -> Lane:
        tag, unpacked = self.producers[route_.producer]
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
    specs = [{**part, "upserts": plan.upserted(op)} for op, part in layout.spec()]
    frame = host(routed, specs, spark, combine, plan.timed)
    several = len(stage.operators) > 1
    producers: dict[Producer, tuple[int | None, Unpacked | None]] = {}
    for i, operator in enumerate(stage.operators):
        producers[operator] = (i if several else None, shapes.unpack(operator, f"`_o{i}`"))
    return Output(frame, producers, {operator.name: layout.shape(operator) for operator in stage.operators})


def host(
    routed: DataFrame, spec: list[dict[str, object]], spark: SparkSession, combine: bool, timed: bool
) -> DataFrame:
    jvm = spark._jvm
    assert jvm is not None
    return DataFrame(jvm.millstream.stage.Stage.apply(routed._jdf, json.dumps(spec), combine, timed), spark)


class Shapes:
    """For each operator: the rows that come in, by themselves, and what it needs of them."""

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

    def spec(self, operator: Operator) -> dict[str, object]:
        return LOWERINGS[type(operator)].spec(operator, self.frames(operator))

    def unsaved(self, operator: Operator) -> dict[str, object]:
        return LOWERINGS[type(operator)].unsaved(operator, self.frames(operator))


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
        """No rows, of a source that Spark must read nevertheless."""
        cells = self.cells(self.ports[0])
        return ticks.selectExpr(*(f"{cast('NULL', cell.type)} AS {field(cell.name)}" for cell in cells))

    def payload(self, column: Port, port: Port) -> str:
        return named_struct(self.shapes.ports[port].payload) if column == port else "NULL"

    def type(self, port: Port) -> DataType:
        shape = self.shapes.ports[port]
        named = zip(shape.payload, shape.payload_types, strict=True)
        return StructType([StructField(name, type_) for (name, _), type_ in named])

    def shape(self, operator: Operator) -> str:
        """What the operator's saved state depends on, as text."""
        keys = ", ".join(sql_type(type_) for type_ in self.shapes.ports[Port(operator)].key_types)
        inputs = "; ".join(sql_type(self.type(port)) for port in self.ports if port.operator == operator)
        details = json.dumps(self.shapes.spec(operator), sort_keys=True)
        return f"key ({keys}), rows {inputs}, {details}"

    def spec(self) -> list[tuple[Operator, dict[str, object]]]:
        first = 1 if self.tagged else 0
        return [
            (
                operator,
                {
                    "name": operator.name,
                    "port": self.ports.index(Port(operator)),
                    "keys": [first + slot for slot in self.places[operator]],
                    **self.shapes.spec(operator),
                    **self.shapes.unsaved(operator),
                    "follows": isinstance(operator, Stateful) and follows(operator),
                },
            )
            for operator in self.stage.operators
        ]
