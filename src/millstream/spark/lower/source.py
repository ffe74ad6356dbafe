"""Sources: records of a log, decoded into weighted rows before any step of the user's."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.types import StringType, StructField, StructType

from millstream.plan.connectors import Reader, record_columns
from millstream.plan.expressions import field
from millstream.plan.nodes import Source
from millstream.spark import jvm
from millstream.spark.lower.types import schema_of

RECORD = ("key", "value", "partition", "offset", "timestamp")
LINE = (
    "CAST(NULL AS BINARY) AS key",
    "CAST(value AS BINARY) AS value",
    "0 AS partition",
    "_metadata.file_block_start AS offset",
    "_metadata.file_modification_time AS timestamp",
)
"""A line of text as a record. Spark does not say which line of its file it is."""
Begun = Any
"""A reader of streams or of batches, with some of its options: they share no type."""


def stream(source: Source, spark: SparkSession, real_time: bool = False) -> DataFrame:
    limits = () if real_time else source.options.reader().limits
    read_ = read(source, spark.readStream, dict(limits), spark)
    rows = DataFrame(jvm.named("millstream.row.Tapped").source(read_._jdf, source.name), spark)
    if source.time is None or not source.holds_time:
        return rows
    marks = source.options.reader().marks
    if marks is None:
        watched = rows.withWatermark(source.time, f"{source.lateness_ms} milliseconds")
    else:
        watched = marked(source, rows, spark.readStream.format(marks.format).options(**dict(marks.options)).load())
    # Without the column's mark: by it Spark would drop late rows itself, before windows can count them.
    unmarked = watched.withMetadata(source.time, {})
    # Time moves with all rows: Spark moves filters in front of the watermark, but not past what depends on the task.
    weight = "`_w` + (spark_partition_id() & 0) AS `_w`"
    return unmarked.selectExpr(*(weight if name == "_w" else field(name) for name in unmarked.columns))


def marked(source: Source, rows: DataFrame, marks: DataFrame) -> DataFrame:
    """The rows, with a watermark that marks move on as well."""
    assert source.time is not None
    types = {part.name: part.dataType.simpleString() for part in rows.schema}
    empty = {name: f"CAST(NULL AS {type_}) AS {field(name)}" for name, type_ in types.items()}
    timed = empty | {source.time: f"timestamp AS {field(source.time)}"}
    both = rows.selectExpr("*", "false AS `_mark`").unionAll(marks.selectExpr(*timed.values(), "true AS `_mark`"))
    watched = both.withWatermark(source.time, f"{source.lateness_ms} milliseconds")
    # It names the time, so that Spark does not move it in front of the watermark.
    return watched.where(f"NOT (`_mark` AND {field(source.time)} IS NOT NULL)").drop("_mark")


def clock(source: Source, place: int, rows: DataFrame, spark: SparkSession) -> dict[str, object]:
    """What the clock needs to know about a source with a time."""
    rest = {} if source.idle_after_ms is None else {"idle_after_ms": source.idle_after_ms}
    watermark = jvm.named("millstream.time.Clock").watermark(rows._jdf)
    return {"name": source.name, "place": place, "watermark": watermark, "lateness_ms": source.lateness_ms, **rest}


def batch(source: Source, spark: SparkSession, ending: str | None = None) -> DataFrame:
    """All rows, or those up to an offset per partition."""
    if ending is not None:
        return read(source, spark.read, {"ending": ending}, spark)
    return read(source, spark.read, {}, spark, source.options.reader().batch)


def read(
    source: Source, begun: Begun, more: dict[str, str], spark: SparkSession, reader: Reader | None = None
) -> DataFrame:
    reader = reader or source.options.reader()
    begun = begun.format(reader.format).options(**dict(reader.options), **more)
    match reader.gives:
        case "records":
            records = begun.load().withColumns({name: expr(sql) for name, sql in reader.computed})
            return decoded(source, records, reader, spark)
        case "lines":
            lines = begun.load().where("trim(value) <> ''").selectExpr(*LINE)
            return decoded(source, lines, reader, spark)
        case "rows":
            return weighed(source, begun.schema(stored_schema(source, spark)).load())


def weighed(source: Source, rows: DataFrame) -> DataFrame:
    """Rows that come with their types; in a changelog, `op` says whether they add or take back."""
    weight = "CASE `op` WHEN 'insert' THEN 1L WHEN 'delete' THEN -1L ELSE raise_error(concat({}, `op`)) END"
    wrong = f"'MS-DECODE-001: source \"{source.name}\" has a row whose op is neither insert nor delete: '"
    chosen = weight.format(wrong) if source.options.changelog else "1L"
    arrival = source.options.reader().arrival
    names = {part.name: field(part.name) for part in source.schema}
    if source.arrival is not None:
        names[source.arrival] = f"{arrival} AS {field(source.arrival)}"
    version = ("0L AS `_place`", "_metadata.file_modification_time AS `_at`") if source.versioned else ()
    return rows.selectExpr(f"{chosen} AS `_w`", *version, *names.values())


def stored_schema(source: Source, spark: SparkSession) -> StructType:
    """As it is in files: with the op of a changelog in front."""
    op = [StructField("op", StringType())] if source.options.changelog else []
    return StructType([*op, *spark_schema(source, spark).fields])


def decoded(source: Source, records: DataFrame, reader: Reader, spark: SparkSession) -> DataFrame:
    if source.options.format == "raw":
        parts = {name: part for name, part, _ in record_columns(source.options)} | {source.arrival: "timestamp"}
        named = [f"{field(parts.get(part.name, part.name))} AS {field(part.name)}" for part in source.schema]
        return records.selectExpr("1L AS `_w`", *named)
    extra = [part for _, part, _ in record_columns(source.options)]
    spec = {
        "source": source.name,
        "topic": source.options.label,
        "topic_column": reader.names_topic,
        "format": source.options.format,
        **dict(reader.values),
        "key_format": reader.key_format,
        "record": len(extra),
        "on_error": source.options.on_error,
        "changelog": source.options.changelog,
        "upserts": list(source.upserts or ()),
        "arrival": source.arrival,
        "versions": source.versioned,
    }
    chosen = records.select(*RECORD, *(["topic"] if reader.names_topic else []), *extra)
    schema = spark_schema(source, spark).json()
    return DataFrame(jvm.named("millstream.decode.Decode").apply(chosen._jdf, json.dumps(spec), schema), spark)


def spark_schema(source: Source, spark: SparkSession) -> StructType:
    fields = tuple(part for part in source.schema if part.name != source.arrival)
    return schema_of(fields, source.name, source.at, "MS-SOURCE-001")
