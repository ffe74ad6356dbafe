"""Runs the queries as Millstream jobs: once for their results, and as often as wanted for their cost."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

import millstream as ms
from bench.measure import Cost, measured
from bench.nexmark.jars import spark_jar
from bench.nexmark.queries import QUERIES
from bench.nexmark.source import Events, EventSource
from millstream import journal
from millstream.connectors import blackhole
from millstream.spark import session

PARALLELISM = 2
MEMORY = "4g"


class Jobs:
    """A Spark session that all jobs use, one after the other."""

    def __init__(self, work: Path, events: Path, events_per_epoch: int) -> None:
        self.work = work
        self.source = EventSource(str(events), events_per_epoch, PARALLELISM)
        self.spark = make_session(work)
        self.path = str(work / "journal")
        self._runs = itertools.count()

    def job(self, query: str, sink: journal.JournalSink | blackhole.BlackholeSink) -> ms.Job:
        checkpoint = self.work / "checkpoints" / f"{query}-{next(self._runs)}"
        job = ms.Job(query, checkpoint=str(checkpoint), parallelism=PARALLELISM)
        QUERIES[query](Events(job, self.source)).to(sink)
        return job

    def results(self, query: str, to: Path) -> None:
        """Every change of the result, as a line of JSON."""
        topic = f"{query}-{next(self._runs)}"
        journal.create(self.path, topic, 1)
        self.job(query, journal.sink(topic, path=self.path, changelog=True)).run(ms.available_now(), spark=self.spark)
        with to.open("wb") as file:
            for record in journal.read(self.path, topic):
                assert record.value is not None
                file.write(record.value + b"\n")

    def cost(self, query: str, without: int | None) -> Cost:
        """What a run costs that computes all rows and keeps none."""
        keyed = QUERIES[query](Events(ms.Job("probe"), self.source))
        by_key = isinstance(keyed, ms.Table) and keyed.key is not None
        job = self.job(query, blackhole.sink(changelog=isinstance(keyed, ms.Table) and not by_key))
        return measured(lambda: job.run(ms.available_now(), spark=self.spark), without=without)


def make_session(work: Path) -> SparkSession:
    own = spark_jar(work.parent / "jars", Path(pyspark.__file__).parent / "jars")
    extra = {"spark.jars": f"{session.jar()},{own}", "spark.driver.memory": MEMORY}
    return session.make(PARALLELISM, PARALLELISM, extra)
