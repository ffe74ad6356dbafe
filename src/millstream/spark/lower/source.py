"""Sources: records of a log, decoded into weighted rows before any step of the user's."""

from __future__ import annotations

import json

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from millstream.errors import MillstreamError
from millstream.plan.expressions import field
from millstream.plan.nodes import Source

RECORD = ("key", "value", "partition", "offset")


def stream(source: Source, spark: SparkSession) -> DataFrame:
    reader = source.options.reader()
    rows = decoded(source, spark.readStream.format(reader.format).options(**dict(reader.options)).load(), spark)
    return rows.withWatermark(source.time, source.lateness or "0 seconds") if source.time else rows


def batch(source: Source, spark: SparkSession, ending: str | None = None) -> DataFrame:
    """All rows, or those up to an offset per partition."""
    reader = source.options.reader()
    options = dict(reader.options)
    if ending is not None:
        options["ending"] = ending
    return decoded(source, spark.read.format(reader.format).options(**options).load(), spark)


def decoded(source: Source, records: DataFrame, spark: SparkSession) -> DataFrame:
    if source.options.format == "raw":
        return records.selectExpr("1L AS `_w`", *(field(part.name) for part in source.schema))
    spec = {
        "source": source.name,
        "topic": source.options.label,
        "on_error": source.options.on_error,
        "changelog": source.options.changelog,
        "upserts": list(source.upserts or ()),
    }
    jvm = spark._jvm
    assert jvm is not None
    chosen = records.select(*RECORD)
    schema = spark_schema(source, spark).json()
    return DataFrame(jvm.millstream.decode.Decode.apply(chosen._jdf, json.dumps(spec), schema), spark)


def spark_schema(source: Source, spark: SparkSession) -> StructType:
    ddl = ", ".join(f"{field(part.name)} {part.type}" for part in source.schema)
    try:
        return StructType.fromDDL(ddl)
    except Exception as error:
        raise MillstreamError(
            "MS-SOURCE-001", f'step "{source.name}" has a schema that Spark cannot read: {ddl}.', at=source.at
        ) from error
