"""Jobs whose sources are received, and forgotten by their system, continue from savepoints, too."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal, rabbitmq
from millstream.errors import MillstreamError
from millstream.reception import Message
from tests.crash.process import until
from tests.reception.memory_queue import MemoryQueue

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run


class Orders:
    """A queue of numbers, and a job that adds them up by their last digit."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder = folder
        self.spark = spark
        self.queue = MemoryQueue()
        self.sent = 0
        self.path = str(folder / "journal")
        journal.create(self.path, "sums")

    def put(self, *numbers: int) -> None:
        self.sent += len(numbers)
        self.queue.put(*(Message(f'{{"n": {n}}}'.encode(), id=str(n)) for n in numbers))

    def job(self, name: str = "orders", parallelism: int = 2) -> ms.Job:
        job = ms.Job("orders", checkpoint=str(self.folder / name), parallelism=parallelism)
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
    def receiving(self, job: ms.Job) -> Iterator[None]:
        """As a run of the job does, which commits nothing of it."""
        receiver: Any = job.plan().sources[0].options
        receiver = receiver.receiver()
        receiver.prepare()
        ended = threading.Event()
        thread = threading.Thread(target=receiver.receive, args=[ended])
        thread.start()
        try:
            until(lambda: len(self.queue.acknowledged) == self.sent)
            yield
        finally:
            ended.set()
            thread.join()


def summed(*numbers: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for n in numbers:
        found[n % 10] = found.get(n % 10, 0) + n
    return found


@pytest.fixture
def orders(tmp_path: Path, spark: SparkSession) -> Orders:
    return Orders(tmp_path, spark)


def test_what_was_received_and_not_read_goes_along(orders: Orders, tmp_path: Path, spark: SparkSession) -> None:
    orders.put(1, 2, 13)
    run = orders.run(orders.job())
    run.savepoint(str(tmp_path / "saved"))
    orders.put(4, 5)
    with orders.receiving(orders.job()):
        pass
    next_job = orders.job("next", parallelism=3)
    next_job.restore(str(tmp_path / "saved"), spark=spark)
    # 2 and 5 are delivered once more: the new checkpoint knows them.
    orders.put(2, 5, 6)
    orders.run(next_job)
    assert orders.sums() == summed(1, 2, 13, 4, 5, 6)
    with pytest.raises(MillstreamError, match="is retired"):
        orders.run(orders.job())


def test_a_job_that_still_receives_keeps_what_is_its_own(orders: Orders, tmp_path: Path, spark: SparkSession) -> None:
    orders.put(1, 2)
    orders.run(orders.job()).savepoint(str(tmp_path / "saved"))
    orders.put(3)
    with orders.receiving(orders.job()), pytest.raises(MillstreamError, match="MS-SAVEPOINT-011") as refused:
        orders.job("next").restore(str(tmp_path / "saved"), spark=spark)
    assert "stop that job first" in str(refused.value)
    orders.job("next").restore(str(tmp_path / "saved"), spark=spark)
    orders.run(orders.job("next"))
    assert orders.sums() == summed(1, 2, 3)


def test_two_jobs_cannot_both_have_it(orders: Orders, tmp_path: Path, spark: SparkSession) -> None:
    orders.put(1)
    orders.run(orders.job()).savepoint(str(tmp_path / "saved"))
    with pytest.raises(MillstreamError, match="MS-SAVEPOINT-011"):
        orders.job("next").restore(str(tmp_path / "saved"), fork=True, spark=spark)
    assert not (tmp_path / "next").exists()


def test_its_checkpoint_must_be_there(orders: Orders, tmp_path: Path, spark: SparkSession) -> None:
    orders.put(1)
    orders.run(orders.job()).savepoint(str(tmp_path / "saved"))
    (tmp_path / "orders").rename(tmp_path / "elsewhere")
    with pytest.raises(MillstreamError, match="MS-SAVEPOINT-011"):
        orders.job("next").restore(str(tmp_path / "saved"), spark=spark)
    orders.put(2)
    orders.job("next").restore(str(tmp_path / "saved"), new_sources={"orders"}, spark=spark)
    orders.run(orders.job("next"))
    assert orders.sums() == summed(1, 2)


def test_a_job_is_rescaled_twice_and_then_moved(orders: Orders, tmp_path: Path, spark: SparkSession) -> None:
    orders.put(1, 2)
    run = orders.job().start(ms.micro_batch("100 ms"), spark=spark)
    until(lambda: run.poll(0.1) or orders.sums() == summed(1, 2))
    orders.put(12)
    run.rescale(3)
    orders.put(2, 7)
    until(lambda: run.poll(0.1) or orders.sums() == summed(1, 2, 12, 7))
    run.rescale(1)
    orders.put(7, 8)
    until(lambda: run.poll(0.1) or orders.sums() == summed(1, 2, 12, 7, 8))
    run.stop(savepoint=str(tmp_path / "saved"))
    orders.put(9)
    with orders.receiving(orders.job()):
        pass
    orders.job("next").restore(str(tmp_path / "saved"), spark=spark)
    orders.put(8, 10)
    orders.run(orders.job("next"))
    assert orders.sums() == summed(1, 2, 12, 7, 8, 9, 10)
