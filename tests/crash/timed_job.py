"""A job with most of what keeps state until a time, to be killed: see `serve.py`."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import millstream as ms
from millstream.testing.trial import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run

INPUTS = ("searches", "clicks")
LIMITS = dict.fromkeys(INPUTS, 10)
SCHEMA = "k INT, v INT, n INT, at TIMESTAMP"
CLOSING = -1
"""The value of rows that only let time go on."""
SOON = "s.k = c.k AND c.at BETWEEN s.at AND s.at + INTERVAL 2 MINUTES"


class Hour(ms.Process):
    """Reports an hour of a key when it is over: how many rows it had, which were the first and the last, and how often
    its most frequent value came."""

    output = "k INT, hour TIMESTAMP, rows INT, first INT, last INT, most INT"
    count = ms.ValueState("INT")
    numbers = ms.ListState("INT")
    values = ms.MapState("INT", "INT")

    def on_row(self, key: Any, row: Any) -> None:
        self.count.set((self.count.get() or 0) + 1)
        self.numbers.append(row.n)
        self.values[row.v] = (self.values.get(row.v) or 0) + 1
        self.set_timer(key.hour + timedelta(hours=1))

    def on_timer(self, key: Any, at: datetime) -> Any:
        numbers, counts = list(self.numbers), [count for _, count in self.values.items()]
        told = {"rows": self.count.get(), "first": min(numbers), "last": max(numbers), "most": max(counts)}
        yield {"k": key.k, "hour": key.hour, **told}
        for state in (self.count, self.numbers, self.values):
            state.clear()


def timed_job(topics: Topics) -> ms.Job:
    job = ms.Job("timed", parallelism=2)
    searches, clicks = (
        job.stream(topics.source(topic), SCHEMA, time="at", lateness="5 minutes").where(f"v <> {CLOSING}")
        for topic in INPUTS
    )
    once = searches.dedup("n", within="10 minutes")
    once.to(topics.sink("once"))
    tens = once.window(ms.tumbling("10 minutes")).group_by("k").agg(n="count(*)", v="sum(v)")
    tens.final().to(topics.sink("tens"))
    visits = once.window(ms.session("1 minute")).group_by("k").agg(n="count(*)", last="max(at)")
    visits.final().to(topics.sink("visits"))
    found = once.as_("s").join(clicks.as_("c"), on=SOON, how="left")
    found.select("s.n", "s.at", click="c.n").to(topics.sink("found"))
    hours = once.with_columns(hour="date_trunc('hour', at)").key_by("k", "hour").process(Hour)
    hours.to(topics.sink("hours"))
    return job


def start(spark: SparkSession, folder: str) -> Run:
    job = timed_job(Topics(Path(folder) / "journal", LIMITS))
    job.checkpoint = f"{folder}/checkpoint"
    return job.start(ms.available_now(), spark=spark)
