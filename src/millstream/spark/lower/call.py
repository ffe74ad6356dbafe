"""A user's Python function, called in Arrow batches.

Where rows are a frame's, Spark hands them over as they are. Where a router computes with many rows at once, the
function takes and gives lists of rows: as one of Spark SQL it can stand anywhere. In real time Spark would keep rows
until a batch is full; there, a kernel hands them over (see Call.java).
"""

from __future__ import annotations

import base64
import json
import pickle
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]
from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from millstream.plan.expressions import field
from millstream.plan.python import Call
from millstream.spark import jvm
from millstream.spark.flow import flows, longest_wait_ms
from millstream.spark.lower.types import named_struct, schema_of
from millstream.spark.meters import counter
from millstream.spark.python.caller import Caller, InFlow, Tally
from millstream.spark.python.failures import ERROR
from millstream.spark.python.ship import environment, ship


def called(node: Call, frame: DataFrame, riding: list[str]) -> DataFrame:
    """The rows that a function gave, in `_called`, beside the columns that ride along; of a filter, those it kept."""
    names = [*riding, *map(field, node.input.carries)]
    given = frame.selectExpr(*(f"{name} AS `c{i}`" for i, name in enumerate(names)))
    kept = names if node.kind == "filter" else riding
    results = schema_of(node.schema, node.name, node.at)
    types = [part.dataType for part in [*given.schema.fields[: len(kept)], *results]]
    types += [ERROR] if node.on_error == "dead_letter" else []
    schema = StructType([StructField(f"c{i}", type_) for i, type_ in enumerate(types)])
    fields = [(part.name, f"`c{i}`") for i, part in enumerate(results, len(kept))]
    row = [("row", named_struct(fields))] if fields else []
    error = f"`c{len(types) - 1}`" if node.on_error == "dead_letter" else f"CAST(NULL AS {ERROR.simpleString()})"
    beside = [f"`c{i}` AS {name}" for i, name in enumerate(kept)]
    made = handed(given, caller_of(node, frame.sparkSession), schema)
    return made.selectExpr(*beside, f"{named_struct([*row, ('error', error)])} AS `_called`")


def handed(rows: DataFrame, caller: Caller, schema: StructType) -> DataFrame:
    if flows(rows.sparkSession):
        return in_flow(rows, InFlow(replace(caller, skipped=Tally())), schema)
    return in_arrow(rows, caller, schema)


def in_flow(rows: DataFrame, code: InFlow, answer: StructType) -> DataFrame:
    """By a kernel, in which no row waits for long. Lists are in the last column, and the results beside it."""
    context = rows.sparkSession.sparkContext
    told = {
        "step": code.caller.step,
        "command": base64.b64encode(pickle.dumps(code)).decode(),
        "python": context.pythonExec,
        "environment": environment(context),
        "answer": answer.json(),
        "beside": code.lists,
        "waitMillis": longest_wait_ms(rows.sparkSession),
    }
    return DataFrame(jvm.named("millstream.call.Call").apply(rows._jdf, json.dumps(told)), rows.sparkSession)


def in_arrow(rows: DataFrame, caller: Caller, schema: StructType) -> DataFrame:
    """As `mapInArrow` does it, which would refuse to without pandas, though it has no use for it."""
    kind = PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    function = UserDefinedFunction(lambda batches: caller.of_batches(batches), schema, evalType=kind)
    column = function(*(rows[name] for name in rows.columns))
    return DataFrame(rows._jdf.mapInArrow(column._jc, False, None), rows.sparkSession)


def caller_of(node: Call, spark: SparkSession) -> Caller:
    schema = schema_of(node.schema, node.name, node.at)
    shipped = ship(node.code.object, node.name, node.at)
    names = tuple(column.name for column in node.input.columns)
    skipped = counter(spark, node.name)
    return Caller(
        node.name, node.kind, shipped, names, schema.json(), node.batches, node.on_error, skipped, node.awaits
    )


def of_lists(node: Call, frame: DataFrame, lists: str, name: str) -> DataFrame:
    """The frame with one more column: the results for the rows of each list."""
    spark = frame.sparkSession
    caller = caller_of(node, spark)
    parts = [StructField("i", IntegerType()), StructField("error", ERROR)]
    parts += [StructField("row", schema_of(node.schema, node.name, node.at))] if node.kind != "filter" else []
    type_ = ArrayType(StructType(parts))
    if flows(spark):
        code = InFlow(replace(caller, skipped=Tally()), lists=True)
        both = in_flow(frame.selectExpr("*", f"{lists} AS `_lists`"), code, StructType([StructField(name, type_)]))
        return both.drop("_lists")
    # Not deterministic as far as Spark knows: it must not be called once more for each place that reads its result.
    function = arrow_udf(lambda column: caller.of_lists(column), type_).asNondeterministic()
    spark.udf.register(f"millstream_{node.digest}", function)
    return frame.selectExpr("*", f"millstream_{node.digest}({lists}) AS `{name}`")


def argument(node: Call, row: str) -> str:
    """A row of the input, as the function of lists wants it."""
    fields = (f"'f{i}', `{row}`.{field(name)}" for i, name in enumerate(node.input.carries))
    return f"named_struct({', '.join(fields)})"
