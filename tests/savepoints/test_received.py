"""Jobs whose sources are received, and forgotten by their system, continue from savepoints, too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal
from millstream.errors import MillstreamError
from millstream.runtime.savepoints.received import notes
from tests.crash.process import until
from tests.savepoints.orders import Orders, summed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def orders(tmp_path: Path, spark: SparkSession) -> Orders:
    return Orders(str(tmp_path), spark)


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


def test_notes_of_a_topic_are_not_those_of_another_with_a_longer_name(tmp_path: Path) -> None:
    """Otherwise a source that is dropped would leave its memory behind, and start with it when it is read again."""
    for topic in ("queue.orders", "queue.orders.eu"):
        journal.create(tmp_path, topic)
        (tmp_path / f"{topic}.seen").touch()
        (tmp_path / f"{topic}.own.note").touch()
        journal.create(tmp_path / f"{topic}.keys", "live")
    assert sorted(notes("queue.orders", str(tmp_path))) == ["queue.orders.own.note", "queue.orders.seen"]
    assert sorted(notes("queue.orders.eu", str(tmp_path))) == ["queue.orders.eu.own.note", "queue.orders.eu.seen"]
