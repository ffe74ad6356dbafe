"""Jobs that write to their own journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import millstream as ms
from millstream import journal
from tests.crash.process import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run


class Jobs:
    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder = folder
        self.spark = spark
        self.path = folder / "journal"

    def job(self, name: str = "read") -> ms.Job:
        return ms.Job(name, checkpoint=str(self.folder / name), parallelism=1)

    def out(self, topic: str = "out", **options: Any) -> journal.JournalSink:
        if not (self.path / topic).exists():
            journal.create(self.path, topic)
        return journal.sink(topic, path=str(self.path), **options)

    def run(self, job: ms.Job, mode: ms.Mode | None = None) -> Run:
        return job.run(mode or ms.available_now(), spark=self.spark)

    def run_until(self, job: ms.Job, count: int, topic: str = "read") -> list[Run]:
        """Runs that take what is there, until there are `count` rows: a broker may be slow to deliver."""
        runs: list[Run] = []

        def arrived() -> bool:
            runs.append(self.run(job))
            return len(self.rows(topic)) >= count

        until(arrived)
        return runs

    def rows(self, topic: str = "out") -> list[Any]:
        return [record.json() for record in journal.read(self.path, topic)]

    def copied(self, source: Any, name: str = "read") -> ms.Job:
        """A job that copies a source with a number n in every row."""
        job = self.job(name)
        job.stream(source, "n BIGINT", name="orders").to(self.out(name))
        return job
