"""Spark's own tools read and move all state of a process, timers by the clock included."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

import millstream as ms
from tests.process.process_bench import Bench, at

FAR = timedelta(days=36500)


class Both(ms.Process):
    """Timers of both kinds, that do not ring, and a count."""

    output = "k STRING, n BIGINT"
    n = ms.ValueState("BIGINT")

    def on_row(self, key: str, row: Any) -> Iterator[Any]:
        self.n.set((self.n.get() or 0) + 1)
        self.set_timer(datetime(2126, 1, 1))
        self.set_processing_timer(self.now + FAR)
        yield key, self.n.get()

    def on_timer(self, key: str, at: datetime) -> None: ...

    def on_processing_timer(self, key: str, at: datetime) -> None: ...


def both(rows: ms.Stream, bench: Bench) -> None:
    rows.key_by("k").process(Both, name="both").to(bench.sink("out"))


def families(bench: Bench) -> dict[str, int]:
    """How many entries each list of state has, by Spark's own reader."""
    reader = bench.spark.read.format("statestore").option("_readAllColumnFamilies", "true")
    found = reader.load(str(bench.folder / "checkpoint" / "spark")).groupBy("column_family_name").count()
    return {row["column_family_name"]: row["count"] for row in found.collect()}


@pytest.mark.slow
def test_spark_reads_and_repartitions_state_with_timers_by_the_clock(bench: Bench) -> None:
    bench.feed(*((k, 1, at(0)) for k in "abcab"))
    bench.run(both, epoch=100)
    before = families(bench)
    assert before == {"$eventTimers_timestampToKey": 3, "$procTimers_timestampToKey": 3, "both_row": 3}
    manager = bench.spark._jsparkSession.streamingCheckpointManager()
    manager.repartition(str(bench.folder / "checkpoint" / "spark"), 3, True)
    assert families(bench) == before
