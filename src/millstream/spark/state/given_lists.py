"""Lists of state from elsewhere, written as in a savepoint."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.spark import jvm
from millstream.spark.state.given import Bootstrapped
from millstream.spark.state.lists import TIMERS
from millstream.spark.state.reading import RANGES, SavedFile, SavedList, folder_of
from millstream.storage import for_hadoop

TIMES = "spark.sql.parquet.outputTimestampType"
COUNTED = "count"


def write_list(rows: DataFrame, step: Bootstrapped, name: str, state: str, spark: SparkSession) -> SavedList:
    """Divided by ranges of the hash of the key, a file each; refused if a key is there twice."""
    folder = for_hadoop(f"{state}/{folder_of(step.name, name)}")
    kind = next((part.kind for part in step.placed.state.variables if part.name == name), TIMERS)
    own = rows.sparkSession
    before = str(own.conf.get(TIMES))
    own.conf.set(TIMES, "TIMESTAMP_MICROS")
    try:
        ranged = rows.repartitionById(RANGES, range_of(step))
        ranged.write.option("compression", "zstd").parquet(folder)
    finally:
        own.conf.set(TIMES, before)
    written = spark.read.parquet(folder)
    refuse_wrong(written, step, kind)
    files = files_of(written, folder, step)
    type_ = step.types[name].json()
    return SavedList(step.name, name, kind, type_, sum(file.rows for file in files), "", files)


def range_of(step: Bootstrapped) -> Column:
    key = f.hash(*(f.col("key").getField(part.name) for part in step.key.fields))
    return ((key.cast("bigint") + 2**31) * RANGES / 2**32).cast("int")


def files_of(written: DataFrame, folder: str, step: Bootstrapped) -> tuple[SavedFile, ...]:
    counted = written.groupBy("_metadata.file_name", range_of(step)).count().collect()
    sha256 = jvm.named("millstream.save.SavedFile").sha256
    named = sorted((str(name), int(part), int(rows)) for name, part, rows in counted)
    return tuple(SavedFile(name, part, rows, str(sha256(f"{folder}/{name}"))) for name, part, rows in named)


def refuse_wrong(written: DataFrame, step: Bootstrapped, kind: str) -> None:
    """A key has one value; rows have a count."""
    by = {"value": ["key"], "list": ["key", "index"], "map": ["key", "entry"], TIMERS: ["key", "at_ms"]}[kind]
    twice = written.groupBy(*by).count().where("count > 1").select("key").take(1)
    if twice:
        raise step.error("is to have state in which a key is there twice.", found=f"key: {tuple(twice[0].key)}")
    counts = [name for name in step.results if name.startswith(COUNTED)] if kind == "value" else []
    for name in counts:
        wrong = written.where(f"value.`{name}` IS NULL OR value.`{name}` < 1").select("key").take(1)
        if wrong:
            found = f"key: {tuple(wrong[0].key)}"
            raise step.error(f"is to have state in which {name} is no number of rows.", found=found)
