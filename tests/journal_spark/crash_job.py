"""A job with two sinks, run in a process of its own so that a fault can end it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from sink_run import recovered, sink, start, stream

from conftest import make_session

ROWS = 200


def sinks(journal: Path) -> str:
    return json.dumps([sink(journal, "all", "changelog"), sink(journal, "even", "upsert")])


def rows(spark: SparkSession, journal: Path, stateful: bool) -> DataFrame:
    read = stream(spark, journal, "in", maxRowsPerEpoch="50")
    return (read.dropDuplicates(["value"]) if stateful else read).selectExpr(
        "explode(if(CAST(CAST(value AS STRING) AS INT) % 2 = 0, array(0, 1), array(0))) sink",
        "key",
        "value",
        "1L w",
    )


def run(spark: SparkSession, journal: Path, checkpoint: Path, mode: str, seconds: float) -> None:
    with recovered(spark, sinks(journal), checkpoint):
        trigger = {"realTime": "1 second"} if mode == "real-time" else {"availableNow": True}
        query = start(rows(spark, journal, mode == "stateful"), sinks(journal), checkpoint, **trigger)
        deadline = time.monotonic() + seconds
        while query.isActive and time.monotonic() < deadline:
            if mode == "real-time" and is_through(query.lastProgress):
                break
            time.sleep(0.05)
        query.stop()
        query.awaitTermination(60)


def is_through(progress: object) -> bool:
    if progress is None:
        return False
    end = progress.sources[0].endOffset  # type: ignore[attr-defined]
    return end is not None and sum(json.loads(end).values()) == ROWS


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    session = make_session(Path(sys.argv[2]), folder / "warehouse")
    run(session, folder, folder / "checkpoint", sys.argv[3], 40)
