"""What is made of the results of windows, by window, is forgotten when the window is closed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal
from millstream.api.relation import WindowedTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def at(minute: int) -> str:
    return f"2026-01-01T00:{minute:02d}:00.000000Z"


@pytest.mark.slow
@pytest.mark.parametrize("final", [False, True])
def test_state_goes_when_windows_close(final: bool, tmp_path: Path, spark: SparkSession) -> None:
    path = str(tmp_path / "journal")
    for topic in ("metrics", "busiest", "hosts"):
        journal.create(path, topic, 1)
    with journal.producer(path, "metrics") as producer:
        for minute, host in ((0, "a"), (0, "a"), (0, "b"), (3, "a"), (9, "a"), (0, "late"), (10, "a")):
            producer.send({"at": at(minute), "host": host})
    job = ms.Job("metrics", checkpoint=str(tmp_path / "checkpoint"))
    metrics = job.stream(
        journal.source("metrics", path=path, max_rows_per_epoch=1), schema="at TIMESTAMP, host STRING", time="at"
    )
    counts: ms.Stream | ms.Table = metrics.window(ms.tumbling("1 minute")).group_by("host").agg(n="count(*)")
    if final:
        assert isinstance(counts, WindowedTable)
        counts = counts.final()
    counts.top(1, by="n DESC", per="window_start").named("busiest").to(journal.sink("busiest", path=path))
    counts.group_by("window_end").agg(hosts="count(*)", n="max(n)").named("hosts").to(journal.sink("hosts", path=path))
    job.run(ms.available_now(), spark=spark)
    last = {record.json()["window_start"]: record.json()["n"] for record in journal.read(path, "busiest")}
    hosts = {record.json()["window_end"]: record.json()["hosts"] for record in journal.read(path, "hosts")}
    closed = {at(0): 2, at(3): 1} if final else {at(0): 2, at(3): 1, at(9): 1, at(10): 1}
    assert {start: n for start, n in last.items() if start in closed} == closed
    assert hosts[at(1)] == 2
    # Of results that come once only the best row is kept.
    for variable in ("busiest_best" if final else "busiest_head", "hosts_group"):
        assert kept(tmp_path, variable, spark) <= Counter({at(9): 1, at(10): 1, at(11): 1}), variable


def kept(folder: Path, variable: str, spark: SparkSession) -> Counter[str]:
    """The times that state is held under."""
    states = spark.read.format("statestore").option("operatorId", 0).option("stateVarName", variable)
    rows = states.load(str(folder / "checkpoint" / "spark")).selectExpr("key.*").collect()
    return Counter(f"{value:%Y-%m-%dT%H:%M:%S.000000Z}" for row in rows for value in row if hasattr(value, "strftime"))
