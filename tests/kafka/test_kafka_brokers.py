"""Three brokers, of which one after the other is killed under load: leaders of every partition, coordinators of every
transaction, the controller. What is read and written stays exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from servers.kafka_cluster import COPIES, Brokers, running
from tests.crash.process import committed, until
from tests.kafka.broker import Topics
from tests.kafka.count_job import MODES, count_job
from tests.kafka.test_kafka_kill import Sender, finish

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.long]


@pytest.fixture(scope="module")
def brokers() -> Iterator[Brokers]:
    with running() as three:
        yield three


def test_each_broker_killed_in_turn(brokers: Brokers, spark: SparkSession, tmp_path: Path) -> None:
    topics = Topics(brokers.servers, "load", COPIES)
    source = topics.create("in", 2)
    for topic in ("every", "counts"):
        topics.create(topic, 2)
    job = count_job(brokers.servers, topics.prefix, str(tmp_path / "checkpoint"))
    with Sender(topics, seed=4) as sender:
        run = job.start(MODES["real-time"], spark=spark, restarts=ms.exponential_delay(most="2 seconds"))

        def advance() -> None:
            """Waits until an epoch has begun and ended after this call."""
            before = committed(tmp_path / "checkpoint")
            until(lambda: run.poll(0.05) or committed(tmp_path / "checkpoint") >= before + 3)

        try:
            advance()
            first = brokers.leader(source, 0)
            for number in [first, *(other for other in brokers.numbers if other != first)]:
                brokers.kill(number)
                advance()
                brokers.start(number)
                brokers.wait()
                advance()
        finally:
            run.stop()
        sender.finish()
        finish(topics, tmp_path, MODES["real-time"], sender.sent, spark)
