"""A user's Python function as a function of Spark SQL that takes and gives lists of rows, in Arrow batches.

A list, so that it can stand wherever a router computes with many rows at once.
"""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]
from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

from millstream.plan.expressions import field
from millstream.plan.python import Call
from millstream.spark.lower.types import schema_of
from millstream.spark.meters import counter
from millstream.spark.python.caller import Caller
from millstream.spark.python.failures import ERROR
from millstream.spark.python.ship import ship


def registered(node: Call, spark: SparkSession) -> str:
    """The name under which the session knows the function."""
    name = f"millstream_{node.digest}"
    schema = schema_of(node.schema, node.name, node.at)
    skipped = counter(spark, node.name)
    shipped = ship(node.code.object, node.name, node.at)
    names = tuple(column.name for column in node.input.columns)
    caller = Caller(node.name, node.kind, shipped, names, schema.json(), node.batches, node.on_error, skipped)
    parts = [StructField("i", IntegerType())]
    parts += [StructField("row", schema)] if node.kind != "filter" else []
    returned = ArrayType(StructType([*parts, StructField("error", ERROR)]))
    # Not deterministic as far as Spark knows: it must not be called once more for each place that reads its result.
    function = arrow_udf(lambda column: caller(column), returned).asNondeterministic()
    spark.udf.register(name, function)
    return name


def argument(node: Call, row: str | None) -> str:
    """A row of the input, as the function wants it."""
    fields = (f"'f{i}', {f'`{row}`.' if row else ''}{field(name)}" for i, name in enumerate(node.input.carries))
    return f"named_struct({', '.join(fields)})"
