"""All state of a checkpoint, read in one pass, against what Spark's own source says about each state variable."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.runtime.described import read_checkpoint
from millstream.spark.lower.state import StageShape
from millstream.spark.state.lists import lists_of
from millstream.spark.state.reading import SavedList, frame, opened, session_to_read
from tests.savepoints.shop import Shop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """After some epochs."""
    shop = Shop(tmp_path_factory.mktemp("shop"))
    shop.feed(160)
    shop.job().run(ms.available_now(), spark=spark)
    return shop


def read(shop: Shop, spark: SparkSession, into: Path, stages: tuple[StageShape, ...] | None = None) -> list[SavedList]:
    about = read_checkpoint(str(shop.folder / "checkpoint"))
    last = about.folder.committed()[-1]
    with opened(spark, about.folder, last, stages or about.stages, str(into)) as state:
        return list(state.write())


def as_json(rows: DataFrame, columns: list[str]) -> Counter[str]:
    return Counter(row[0] for row in rows.selectExpr(f"to_json(struct({', '.join(columns)}))").collect())


def by_spark(shop: Shop, spark: SparkSession, stage: int, family: str) -> DataFrame:
    """A state variable as Spark's own source reads it, one Spark job for each."""
    folder = read_checkpoint(str(shop.folder / "checkpoint")).folder
    reader = session_to_read(spark).read.format("statestore").option("operatorId", stage)
    return reader.option("stateVarName", family).option("batchId", folder.committed()[-1]).load(folder.spark)


def test_every_variable_is_read_as_spark_reads_it(shop: Shop, spark: SparkSession, tmp_path: Path) -> None:
    found = {(one.operator, one.name): one for one in read(shop, spark, tmp_path)}
    stages = read_checkpoint(str(shop.folder / "checkpoint")).stages
    compared = 0
    for one in lists_of(stages):
        saved = found.get((one.operator, one.name))
        if one.kind == "timers" or saved is None:
            continue
        theirs = by_spark(shop, spark, one.stage, one.family)
        names = {
            "value": ["value"],
            "list": ["list_element AS value"],
            "map": ["user_map_key AS entry", "user_map_value AS value"],
        }
        slots = theirs.schema["key"].dataType.fieldNames()  # type: ignore[attr-defined]
        key = ", ".join(f"key.`{slots[part.at]}` AS `{part.name}`" for part in one.keys)
        expected = as_json(theirs, [f"struct({key}) AS key", *names[one.kind]])
        columns = {"value": ["key", "value"], "list": ["key", "value"], "map": ["key", "entry", "value"]}
        assert as_json(frame(spark, str(tmp_path), saved), columns[one.kind]) == expected, one
        assert saved.rows == expected.total() > 0 or one.kind in ("map", "list"), one
        compared += saved.rows
    assert compared > 100


def test_timers_of_both_kinds_are_read(shop: Shop, spark: SparkSession, tmp_path: Path) -> None:
    found = {(one.operator, one.name): one for one in read(shop, spark, tmp_path)}
    clock = frame(spark, str(tmp_path), found["seen", "clock"]).collect()
    assert {row.key.customer for row in clock} == {f"c{n}" for n in range(9)}
    assert found["seen", "timers"].rows > 0
    assert found["hourly", "timers"].rows > 0
    rows = frame(spark, str(tmp_path), found["seen", "timers"]).collect()
    assert all(row.at_ms % 600_000 == 0 for row in rows)


def test_lists_keep_their_order(shop: Shop, spark: SparkSession, tmp_path: Path) -> None:
    found = {(one.operator, one.name): one for one in read(shop, spark, tmp_path)}
    rows = frame(spark, str(tmp_path), found["seen", "state_prices"]).orderBy("key.customer", "index").collect()
    mine = [(row.key.customer, row["index"]) for row in rows]
    assert mine == [
        (customer, n) for customer, count in sorted(Counter(c for c, _ in mine).items()) for n in range(count)
    ]
    theirs = by_spark(shop, spark, stage_of(shop, "seen"), "seen_state_prices").collect()
    in_order: dict[str, list[Any]] = {}
    for row in theirs:
        in_order.setdefault(next(part for part in row.key if isinstance(part, str)), []).append(row.list_element)
    assert [row.value for row in rows] == [item for customer in sorted(in_order) for item in in_order[customer]]


def stage_of(shop: Shop, operator: str) -> int:
    return next(
        one.stage
        for one in lists_of(read_checkpoint(str(shop.folder / "checkpoint")).stages)
        if one.operator == operator
    )


def test_state_that_is_left_out_is_noticed(shop: Shop, spark: SparkSession, tmp_path: Path) -> None:
    """The negative control: whichever operator the checkpoint does not speak of, its state is found."""
    stages = read_checkpoint(str(shop.folder / "checkpoint")).stages
    for place, stage in enumerate(stages):
        for name in stage.operators:
            fewer = replace(stage, operators={other: put for other, put in stage.operators.items() if other != name})
            if not fewer.operators:
                continue
            with pytest.raises(ms.MillstreamError, match="MS-SAVEPOINT-001"):
                read(shop, spark, tmp_path / name, (*stages[:place], fewer, *stages[place + 1 :]))


def test_other_tools_read_it(shop: Shop, spark: SparkSession, tmp_path: Path) -> None:
    for one in read(shop, spark, tmp_path):
        table = pq.read_table(tmp_path / one.folder)
        assert table.num_rows == one.rows
        assert table.column_names[0] == "key"


def test_files_are_by_ranges_of_the_keys_hash(shop: Shop, spark: SparkSession, tmp_path: Path) -> None:
    for one in read(shop, spark, tmp_path):
        for file in one.files:
            rows = spark.read.parquet(str(tmp_path / one.folder / file.name)).selectExpr("hash(key.*) AS h").collect()
            assert len(rows) == file.rows
            assert {(row.h + 2**31) * 4 >> 32 for row in rows} <= {file.range}


def test_one_operator_alone(shop: Shop, spark: SparkSession, tmp_path: Path) -> None:
    about = read_checkpoint(str(shop.folder / "checkpoint"))
    last = about.folder.committed()[-1]
    with opened(spark, about.folder, last, about.stages, str(tmp_path), operators=frozenset({"seen"})) as state:
        found = state.write()
    assert {one.operator for one in found} == {"seen"}
    assert json.loads(found[0].type)["fields"][0]["name"] == "key"
