"""Writes lists of state into a new checkpoint, at any parallelism.

1. One epoch of the job without input leaves a checkpoint in which Spark has recorded everything about its stages,
   which are empty.
2. Spark's own writer then fills the stores, as the state of the epoch that was saved.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from millstream.spark import jvm
from millstream.spark.epochs import FILES
from millstream.spark.lower.job import Lowered
from millstream.spark.lower.state import StageShape
from millstream.spark.state.fitting import Rename, fitted, same_name
from millstream.spark.state.lists import StateList, lists_of
from millstream.spark.state.reading import SavedList, frame
from millstream.storage import CheckpointFolder, for_hadoop

EMPTY = 0
"""The epoch without input."""


@dataclass(frozen=True)
class Filled:
    """A list of the job, and the one that was saved which it is filled from."""

    list: StateList
    saved: SavedList
    rename: Rename = same_name


def lay_out(lowered: Lowered, folder: CheckpointFolder, spark: SparkSession) -> None:
    """Runs the epoch without input, and writes nothing to the sinks."""
    manager = folder.files.checkpoints
    if manager is not None:
        spark.conf.set(FILES, manager)
    nothing = DataFrame(jvm.named("millstream.save.NoInput").of(lowered.frame._jdf), spark)
    writer = nothing.writeStream.format("noop").outputMode("update").trigger(availableNow=True)
    query = writer.option("checkpointLocation", for_hadoop(folder.spark)).start()
    query.awaitTermination()


def fill(
    spark: SparkSession, folder: CheckpointFolder, state: str, filled: Iterable[Filled], epoch: int, parallelism: int
) -> str:
    """The state of an epoch, from the lists under `state`; the content of its commit, as JSON."""
    restoring = jvm.named("millstream.save.Restoring")(for_hadoop(folder.spark), EMPTY)
    for one in filled:
        for rows, family in shaped(spark, restoring, state, one):
            restoring.add(one.list.stage, rows._jdf, family)
    return str(restoring.write(spark._jsparkSession, epoch, parallelism))


def shaped(spark: SparkSession, restoring: Any, state: str, one: Filled) -> Iterable[tuple[DataFrame, str]]:
    """The rows of a list as they are in the stores: the stage's key, key, value, and the place of an item."""
    rows = frame(spark, state, one.saved)
    found = restoring.family(spark._jsparkSession, one.list.stage, one.list.family)
    assert found is not None, f"there is no state {one.list.family}"
    types = StructType.fromJson(json.loads(found))
    whole = StructType.fromJson(json.loads(restoring.stageKey(spark._jsparkSession, one.list.stage)))
    own = stage_key(one.list, whole, rows)
    value_type = types["value"].dataType
    index = "0L"
    match one.list.kind:
        case "timers":
            key, value = f"named_struct('expiryTimestampMs', at_ms, 'key', {own})", "named_struct('__dummy__', NULL)"
        case "map":
            key_type = types["key"].dataType
            assert isinstance(key_type, StructType)
            entry = fitted("entry", rows.schema["entry"].dataType, key_type["userKey"].dataType)
            key, value = f"named_struct('key', {own}, 'userKey', {entry})", fitted_value(rows, value_type, one.rename)
        case kind:
            key, value = own, fitted_value(rows, value_type, one.rename)
            index = "index" if kind == "list" else index
    yield rows.selectExpr(f"{own} AS pk", f"{key} AS key", f"{value} AS value", f"{index} AS index"), one.list.family
    if one.list.kind == "list":
        counted = rows.selectExpr(f"{own} AS pk").groupBy("pk").count()
        columns = ("pk", "pk AS key", "named_struct('count', count) AS value", "0L AS index")
        yield counted.selectExpr(*columns), f"$rowCounter_{one.list.family}"


def fitted_value(rows: DataFrame, wanted: DataType, rename: Rename) -> str:
    return fitted("value", rows.schema["value"].dataType, wanted, rename)


def stage_key(one: StateList, whole: StructType, rows: DataFrame) -> str:
    """The stage's key: the operator's tag, its own columns in their slots, NULL in the others."""
    own = rows.schema["key"].dataType
    assert isinstance(own, StructType)
    columns = {key.at: f"key.`{name}`" for key, name in zip(one.keys, own.fieldNames(), strict=True)}
    parts = []
    for at, part in enumerate(whole.fields):
        value = columns.get(at, str(one.number) if part.name == "_op" else "NULL")
        parts.append(f"'{part.name}', CAST({value} AS {part.dataType.simpleString()})")
    return f"named_struct({', '.join(parts)})"


def targets(stages: Sequence[StageShape]) -> dict[tuple[str, str], StateList]:
    return {(one.operator, one.name): one for one in lists_of(stages)}
