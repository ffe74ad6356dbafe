"""Runs the queries as Millstream jobs: once for their results, and as often as wanted for their cost."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

import millstream as ms
from bench.measure import Cost, measured
from bench.nexmark.jars import spark_jar
from bench.nexmark.oracle import Oracle, Verdict
from bench.nexmark.queries import QUERIES, TIMED
from bench.nexmark.source import Events, EventSource
from millstream import files, journal
from millstream.connectors import blackhole
from millstream.plan.connectors import SinkOptions
from millstream.spark import packages, session

PARALLELISM = 2
MEMORY = "4g"
FILES = {"q10": ("day", "minute")}
"""Queries that write files, and what they are partitioned by."""


class Jobs:
    """A Spark session that all jobs use, one after the other."""

    def __init__(self, tools: Path, work: Path, source: EventSource, judged: EventSource) -> None:
        self.work = work
        self.source = source
        self.judged = judged
        self.spark = make_session(tools)
        self.path = str(work / "journal")
        self._runs = itertools.count()

    def job(self, query: str, source: EventSource, sink: SinkOptions) -> ms.Job:
        checkpoint = self.work / "checkpoints" / f"{query}-{next(self._runs)}"
        job = ms.Job(query, checkpoint=str(checkpoint), parallelism=PARALLELISM)
        QUERIES[query](Events(job, source, query in TIMED)).to(sink)
        return job

    def check(self, query: str, oracle: Oracle) -> Verdict:
        """Runs the query for its results, and lets DuckDB judge them."""
        if query in FILES:
            folder = self.folder()
            sink = files.sink(folder, format="parquet", partition_by=FILES[query])
            self.job(query, self.judged, sink).run(ms.available_now(), spark=self.spark)
            return oracle.judge_files(query, f"{folder}/*/*/*/*.parquet")
        changes = self.work / "changes.json"
        self.results(query, changes)
        return oracle.judge(query, changes)

    def folder(self) -> str:
        return str(self.work / f"files-{next(self._runs)}")

    def results(self, query: str, to: Path) -> None:
        """Every change of the result, as a line of JSON."""
        topic = f"{query}-{next(self._runs)}"
        journal.create(self.path, topic, 1)
        sink = journal.sink(topic, path=self.path, changelog=True)
        self.job(query, self.judged, sink).run(ms.available_now(), spark=self.spark)
        with to.open("wb") as file:
            for record in journal.read(self.path, topic):
                assert record.value is not None
                file.write(record.value + b"\n")

    def cost(self, query: str, without: int | None) -> Cost:
        """The cost of a run that computes all rows and keeps none."""
        job = self.job(query, self.source, self.sink(query))
        return measured(lambda: job.run(ms.available_now(), spark=self.spark), without=without)

    def sink(self, query: str) -> SinkOptions:
        """Nothing is kept, except by the query that is about files. Tables are written by key where they have one."""
        if query in FILES:
            return files.sink(self.folder(), format="csv", partition_by=FILES[query])
        result = QUERIES[query](Events(ms.Job("probe"), self.source, query in TIMED))
        return blackhole.sink(changelog=isinstance(result, ms.Table) and result.key is None)


def make_session(tools: Path) -> SparkSession:
    own = spark_jar(tools / "jars", Path(pyspark.__file__).parent / "jars")
    extra = {"spark.jars": f"{packages.jar()},{own}", "spark.driver.memory": MEMORY}
    return session.make(PARALLELISM, PARALLELISM, extra)
