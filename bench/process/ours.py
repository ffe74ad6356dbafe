"""Python code in Millstream, and the same by hand in PySpark: one session, one way after the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import pandas_udf  # type: ignore[attr-defined]
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

import millstream as ms
from bench.measure import Cost, measured
from bench.process.rows import SCHEMA
from millstream import files
from millstream.connectors import blackhole
from millstream.spark import session
from millstream.spark.slots import Need

PARALLELISM = 2
COUNTED = "k BIGINT, n BIGINT, total DOUBLE"
MAPPED = "id BIGINT, twice DOUBLE, text STRING"


class Count(ms.Process):
    output = COUNTED
    kept = ms.ValueState("n BIGINT, total DOUBLE")

    def on_row(self, key: int, row: Any) -> Iterator[Any]:
        before = self.kept.get()
        n, total = (before.n + 1, before.total + row.v) if before else (1, row.v)
        self.kept.set((n, total))
        yield key, n, total


class CountColumns(ms.Process):
    """The same, with the rows of many keys at once."""

    output = COUNTED
    kept = ms.ValueState("n BIGINT, total DOUBLE")

    def on_batch(self, batch: ms.KeyedBatch) -> pa.RecordBatch:
        n, total = (pc.fill_null(part, 0).to_numpy(zero_copy_only=False) for part in self.kept.column().flatten())
        of = batch.of.to_numpy()
        first = numpy.searchsorted(of, numpy.arange(len(n)))
        sums = numpy.concatenate(([0.0], numpy.cumsum(batch.rows["v"].to_numpy())))
        counts = n[of] + numpy.arange(1, len(of) + 1) - first[of]
        totals = total[of] + sums[1:] - sums[first][of]
        last = numpy.append(first[1:], len(of)) - 1
        self.kept.set_column(pa.StructArray.from_arrays([counts[last], totals[last]], names=["n", "total"]))
        return pa.record_batch({"k": batch.keys["k"].take(batch.of), "n": counts, "total": totals})


def mapped(row: Any) -> Any:
    return row.id, row.v * 2, row.text


def mapped_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch({"id": batch["id"], "twice": pc.multiply(batch["v"], 2.0), "text": batch["text"]})


def mapped_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return map(mapped_batch, batches)


class CountPandas(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.kept = handle.getValueState("kept", "n BIGINT, total DOUBLE")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        import pandas

        n, total = self.kept.get() or (0, 0.0)
        for frame in rows:
            totals = frame["v"].cumsum() + total
            yield pandas.DataFrame({"k": key[0], "n": range(n + 1, n + 1 + len(frame)), "total": totals})
            n, total = n + len(frame), float(totals.iloc[-1])
        self.kept.update((n, total))

    def close(self) -> None:
        pass


def by_pandas(rows: DataFrame) -> DataFrame:
    return rows.groupBy("k").transformWithStateInPandas(CountPandas(), COUNTED, "Update", "None")


def by_map_in_arrow(rows: DataFrame) -> DataFrame:
    return rows.mapInArrow(mapped_batches, MAPPED)


def by_pandas_udf(rows: DataFrame) -> DataFrame:
    twice = pandas_udf(lambda v: v * 2, "double")
    return rows.select("id", twice("v").alias("twice"), "text")


JOBS: dict[str, Callable[[ms.Stream], ms.Stream]] = {
    "keyed, millstream": lambda rows: rows.key_by("k").process(Count),
    "keyed in columns, millstream": lambda rows: rows.key_by("k").process(CountColumns),
    "map, millstream": lambda rows: rows.map(mapped, MAPPED),
    "batches, millstream": lambda rows: rows.map(mapped_batch, MAPPED, batches=True),
}
BY_HAND: dict[str, Callable[[DataFrame], DataFrame]] = {
    "keyed, transformWithStateInPandas": by_pandas,
    "batches, mapInArrow": by_map_in_arrow,
    "batches, pandas_udf": by_pandas_udf,
}


class Ours:
    def __init__(self, work: Path) -> None:
        self.work = work
        self.spark = session.make(2, PARALLELISM, {})
        self._runs = itertools.count()

    def checkpoint(self) -> str:
        return str(self.work / f"checkpoint-{next(self._runs)}")

    def cost(self, way: str, folder: str) -> Cost:
        return self.by_hand(way, folder) if way in BY_HAND else self.by_millstream(way, folder)

    def by_millstream(self, way: str, folder: str) -> Cost:
        job = ms.Job("bench", checkpoint=self.checkpoint(), parallelism=PARALLELISM)
        source = files.source(folder, format="parquet", max_files_per_epoch=1)
        JOBS[way](job.stream(source, SCHEMA)).to(blackhole.sink())
        return measured(lambda: job.run(ms.available_now(), spark=self.spark))

    def by_hand(self, way: str, folder: str) -> Cost:
        own: SparkSession = session.use(self.spark, Need(2), PARALLELISM)
        checkpoint = self.checkpoint()

        def work() -> None:
            rows = own.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(folder)
            writer = BY_HAND[way](rows).writeStream.format("noop").outputMode("update")
            writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()

        return measured(work)
