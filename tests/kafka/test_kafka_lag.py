"""How far a job is behind its topics: what the brokers' end offsets say, and 0 when it has caught up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

import millstream as ms
from millstream import journal, kafka
from tests.kafka.broker import Topics
from tests.kafka.test_kafka_source import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMING: dict[str, ms.Mode] = {"micro_batch": ms.micro_batch("100 ms"), "real_time": ms.real_time("300 ms")}
ENDS_LEFT = {"micro_batch": 0, "real_time": 2}
"""In real time a task stops behind its last row: the end of a transaction is left in both partitions."""


def job(topic: str, folder: Path, max_rows_per_epoch: int | None = None) -> ms.Job:
    path = str(folder / "journal")
    if not (folder / "journal" / "out").exists():
        journal.create(path, "out", 1)
    made = ms.Job("behind", checkpoint=str(folder / "checkpoint"), parallelism=1)
    source = kafka.source(topic, max_rows_per_epoch=max_rows_per_epoch)
    made.stream(source, "n BIGINT", name="log").to(journal.sink("out", path=path))
    return made


def in_a_transaction(topics: Topics, topic: str, count: int) -> None:
    """Its end is a separate record in each partition, which no reader sees."""
    producer = Producer({"bootstrap.servers": topics.servers, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    for n in range(count):
        producer.produce(topic, b'{"n": 1}', partition=n % 2)
    producer.commit_transaction(30)


def test_what_is_left_is_what_the_broker_has_more(topics: Topics, tmp_path: Path, spark: SparkSession) -> None:
    topic = topics.create("log", 2)
    for part, count in ((0, 17), (1, 6)):
        topics.send(topic, *({"n": n} for n in range(count)), partition=part)
    # One epoch now, and the next one long after the test.
    run = job(topic, tmp_path, max_rows_per_epoch=8).start(ms.micro_batch("1 hour"), spark=spark)
    try:
        until(lambda: run.metrics().epochs == 1, run)
        read = run.metrics().source("log").rows
        assert 0 < read < 23
        assert run.metrics().source("log").lag == sum(topics.ends(topic).values()) - read
    finally:
        run.stop()
    run = job(topic, tmp_path, max_rows_per_epoch=8).start(ms.available_now(), spark=spark)
    run.wait()
    assert (run.metrics().source("log").rows, run.metrics().source("log").lag) == (23 - read, 0)


@pytest.mark.slow
@pytest.mark.parametrize("mode", STREAMING)
def test_it_falls_to_nothing(mode: str, topics: Topics, tmp_path: Path, spark: SparkSession) -> None:
    topic = topics.create("log", 2)
    # The limit does not keep a job from running in real time.
    run = job(topic, tmp_path, max_rows_per_epoch=1000).start(STREAMING[mode], spark=spark)

    def reads(rows: int, left: int) -> None:
        until(lambda: run.metrics().source("log").rows == rows and run.metrics().source("log").lag == left, run)

    try:
        topics.send(topic, *({"n": n} for n in range(10)))
        reads(10, left=0)
        in_a_transaction(topics, topic, 6)
        reads(16, left=ENDS_LEFT[mode])
        for part in range(2):
            topics.send(topic, {"n": 0}, partition=part)
        reads(18, left=0)
    finally:
        run.stop()
