"""A user's process: whole rows as payload, and what the kernel and the Python that it starts must know."""

from __future__ import annotations

import base64
import pickle

from pyspark.sql import DataFrame
from pyspark.sql.functions import arrow_udf, expr  # type: ignore[attr-defined]
from pyspark.sql.types import ArrayType, DataType, StructType

from millstream.errors import MillstreamError
from millstream.plan.expressions import field
from millstream.plan.python import Process, StateVar
from millstream.spark.flow import longest_wait_ms
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked, whole_row
from millstream.spark.lower.state import Kept
from millstream.spark.lower.told import ListTold, MapTold, ProcessTold
from millstream.spark.lower.types import schema_of, types_of
from millstream.spark.python.ship import environment, ship
from millstream.spark.python.spec import ProcessSpec, Variable
from millstream.spark.python.whole import Whole

BY_TIME = "(a, b) -> CASE WHEN a.time <=> b.time THEN 0 WHEN a.time IS NULL OR a.time < b.time THEN -1 ELSE 1 END"
"""Rows without a time come first."""


def shapes(node: Process, rows: Frames) -> tuple[Shape, ...]:
    keys = tuple(part.expr.sql for part in node.keys)
    payload = tuple((name, field(name)) for name in node.input.carries)
    types = types_of(rows[0], [*keys, *(sql for _, sql in payload)])
    return (Shape(keys, tuple(types[: len(keys)]), payload, tuple(types[len(keys) :])),)


def unpack(node: Process, rows: Frames, struct: str) -> Unpacked:
    return whole_row(node, struct)


def told(node: Process, rows: Frames) -> ProcessTold:
    spec = process_spec(node)
    context = rows[0].sparkSession.sparkContext
    return ProcessTold(
        values=spec.values.json(),
        lists=tuple(ListTold(var.name, var.item.json()) for var in spec.of_kind("list")),
        maps=tuple(
            MapTold(var.name, StructType(var.entry.fields[:1]).json(), var.item.json()) for var in spec.of_kind("map")
        ),
        output=spec.output.json(),
        command=base64.b64encode(pickle.dumps(spec)).decode(),
        python=context.pythonExec,
        environment=environment(context),
        time=None if spec.time is None else node.input.columns[spec.time].field,
        # State that expires by the clock is forgotten by a timer, too.
        clocked=node.run.clocks or (spec.time is None and any(var.ttl_ms for var in spec.variables)),
        wait_ms=longest_wait_ms(rows[0].sparkSession),
    )


def kept(node: Process) -> Kept:
    """Code and outputs may change."""
    return Kept(tuple(part.name for part in node.keys))


def process_spec(node: Process) -> ProcessSpec:
    names = [name for name, _ in node.run.outputs]
    schemas = [schema_of(schema, node.name, node.at).json() for schema in node.schemas]
    columns = node.input.columns
    time = next((i for i, column in enumerate(columns) if column.field == node.input.event_time), None)
    return ProcessSpec(
        node.name,
        tuple(part.name for part in node.keys),
        tuple(column.name for column in columns),
        time,
        tuple(zip([*names, "_errors"], schemas, strict=True)),
        tuple(variable(var, node) for var in node.run.states),
        node.on_error,
        ship(node.run.code.object, node.name, node.at),
        node.run.in_flight,
        node.run.batches,
    )


def variable(var: StateVar, node: Process) -> Variable:
    return Variable(
        var.name,
        var.kind,
        spark_type(var.type, var, node),
        spark_type(var.key, var, node) if var.key else None,
        var.ttl_ms,
    )


def spark_type(text: str, var: StateVar, node: Process) -> str:
    try:
        return str(DataType.fromDDL(text).json())
    except Exception as error:
        raise MillstreamError(
            "MS-PROCESS-004", f'step "{node.name}" keeps {var.name} as {text}, which Spark does not know.', at=node.at
        ) from error


def batch(node: Process, rows: Frames) -> DataFrame:
    """All rows of a key at once, in the order of their time, through the same code with state in plain dicts."""
    whole = Whole(process_spec(node))
    name = f"millstream_whole_{node.digest}"
    function = arrow_udf(lambda groups: whole(groups), ArrayType(whole.spec.output)).asNondeterministic()
    rows[0].sparkSession.udf.register(name, function)
    fields = ", ".join(f"'{i}', {field(part)}" for i, part in enumerate(node.input.carries))
    time = field(node.input.event_time) if node.input.event_time else "NULL"
    keyed = rows[0].selectExpr(
        *(f"{part.expr.sql} AS `k{i}`" for i, part in enumerate(node.keys)),
        f"named_struct('time', CAST({time} AS TIMESTAMP), 'row', named_struct({fields})) AS `r`",
    )
    keys = [f"k{i}" for i in range(len(node.keys))]
    grouped = keyed.groupBy(*keys).agg(expr(f"array_sort(collect_list(`r`), {BY_TIME})").alias("rows"))
    key = ", ".join(f"'{part}', `{part}`" for part in keys)
    called = grouped.selectExpr(f"{name}(named_struct('key', named_struct({key}), 'rows', `rows`)) AS `found`")
    return called.selectExpr("inline(`found`)")


PROCESS = Lowering(shapes, unpack, told, kept, batch, gathers=True)
