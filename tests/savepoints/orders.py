"""A queue of numbers, and a job that adds them up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import millstream as ms
from millstream import journal, rabbitmq
from millstream.reception import Message
from tests.crash.process import until
from tests.reception.memory_queue import MemoryQueue, receiving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run


class Orders:
    """The job adds the numbers up by their last digit."""

    def __init__(self, folder: str, spark: SparkSession) -> None:
        self.folder = folder
        self.spark = spark
        self.queue = MemoryQueue()
        self.sent = 0
        self.path = f"{folder}/journal"
        journal.create(self.path, "sums")

    def put(self, *numbers: int) -> None:
        self.sent += len(numbers)
        self.queue.put(*(Message(f'{{"n": {n}}}'.encode(), id=str(n)) for n in numbers))

    def job(self, name: str = "orders", parallelism: int = 2) -> ms.Job:
        job = ms.Job("orders", checkpoint=f"{self.folder}/{name}", parallelism=parallelism)
        source = replace(rabbitmq.source("orders", server="amqp://host/"), stand_in=self.queue)
        orders = job.stream(source, "n BIGINT", name="orders")
        sums = orders.group_by(digit="n % 10").agg(total="sum(n)")
        sums.to(journal.sink("sums", path=self.path))
        return job

    def run(self, job: ms.Job) -> Run:
        return job.run(ms.available_now(), spark=self.spark)

    def sums(self) -> dict[int, int]:
        return {row["digit"]: row["total"] for row in (record.json() for record in journal.read(self.path, "sums"))}

    @contextmanager
    def receiving(self, job: ms.Job) -> Iterator[list[Exception]]:
        """As a run of the job does, which commits nothing of it; what goes wrong."""
        source: Any = job.plan().sources[0].options
        with receiving(source.receiver()) as wrong:
            until(lambda: len(self.queue.acknowledged) == self.sent)
            yield wrong


def summed(*numbers: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for n in numbers:
        found[n % 10] = found.get(n % 10, 0) + n
    return found
