"""A folder with topics, and a job's runs over them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import millstream as ms
from millstream import journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "k STRING, v INT, at TIMESTAMP"


def at(minute: int, second: int = 0) -> str:
    return f"2026-01-01T00:{minute:02d}:{second:02d}.000000Z"


class Bench:
    """Rows that are fed, epoch by epoch, and what a job makes of them."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self.path, self.spark = folder, str(folder / "journal"), spark
        for topic in ("rows", "out", "other", "bad"):
            journal.create(self.path, topic, 1)

    def sink(self, topic: str) -> journal.JournalSink:
        return journal.sink(topic, path=self.path)

    def feed(self, *rows: tuple[str | None, int | None, str | None]) -> None:
        with journal.producer(self.path, "rows") as producer:
            for k, v, moment in rows:
                producer.send({"k": k, "v": v, "at": moment})

    def job(self, fill: Callable[[ms.Stream, Bench], None], epoch: int | None = None) -> ms.Job:
        job = ms.Job("bench", checkpoint=str(self.folder / "checkpoint"))
        source = journal.source("rows", path=self.path, max_rows_per_epoch=epoch)
        fill(job.stream(source, SCHEMA, time="at"), self)
        return job

    def run(self, fill: Callable[[ms.Stream, Bench], None], mode: ms.Mode | None = None, epoch: int = 1) -> Any:
        run = self.job(fill, epoch).start(mode or ms.available_now(), spark=self.spark)
        run.wait()
        return run

    def read(self, topic: str = "out") -> list[Any]:
        return [json.loads(record.value or b"") for record in journal.read(self.path, topic)]
