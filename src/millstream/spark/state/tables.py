"""Lists of state as tables for users: the columns of a key and of a value side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from millstream.spark.state.reading import SavedList, frame

SPREAD = ("key", "entry", "value")
"""Columns whose fields become separate columns."""
AT = "at_ms"


class Column(NamedTuple):
    """A column of a table: a field of a list's column, or all of it."""

    of: str
    field: str | None
    name: str


def columns(fields: Sequence[tuple[str, Sequence[str] | None]]) -> list[Column]:
    """Of columns with the names of their fields. A field whose name is taken is called `value.name`."""
    found: list[Column] = []
    for of, inner in fields:
        for field in inner if inner is not None and of in SPREAD else [None]:
            name = field or ("at" if of == AT else of)
            taken = any(other.name == name for other in found)
            found.append(Column(of, field, f"{of}.{name}" if taken else name))
    return found


def arrow_table(folder: str, one: SavedList) -> pa.Table:
    """Of files on this machine; no Spark job reads them."""
    files = [os.path.join(folder, one.folder, file.name) for file in one.files]
    parts = [pq.ParquetFile(file).read() for file in files]
    whole = pa.concat_tables(parts) if parts else None
    if whole is None:
        return pa.table({})
    fields = [
        (field.name, [part.name for part in field.type] if pa.types.is_struct(field.type) else None)
        for field in whole.schema
    ]
    made = {}
    for column in columns(fields):
        values = whole[column.of]
        if column.field is not None:
            values = pc.struct_field(values, column.field)
        made[column.name] = values.cast(pa.timestamp("ms", tz="UTC")) if column.of == AT else values
    return pa.table(made)


def spark_frame(spark: SparkSession, folder: str, one: SavedList) -> DataFrame:
    """The same for Spark."""
    rows = frame(spark, folder, one)
    fields = [
        (field.name, field.dataType.fieldNames() if isinstance(field.dataType, StructType) else None)
        for field in rows.schema.fields
    ]
    return rows.select(*(selected(column) for column in columns(fields)))


def selected(column: Column) -> Expression:
    whole = f.col(column.of)
    if column.of == AT:
        return f.timestamp_millis(whole).alias(column.name)
    return (whole if column.field is None else whole.getField(column.field)).alias(column.name)
