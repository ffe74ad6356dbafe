"""Proves exactly once into Kafka: the job is killed at every place that a sink meets, and at random moments.

Mostly it does not really die. To the broker it does: its connections end, with their transactions open, and it is
silent until the run is over.
"""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

import millstream as ms
from millstream.testing.faults import REPAIR_POINTS, Fault
from servers.kafka import Kafka
from servers.proxy import Proxy
from tests.crash.lives import Lives
from tests.crash.process import PATIENCE, committed, until
from tests.kafka.broker import Topics
from tests.kafka.count_job import LONG, MODES, count_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

POINTS = {
    # Those where Kafka has something else to repair than after the one before.
    "real-time": (
        "sink.write",
        "sink.prepare.before",
        "sink.prepare.after",
        "decision.after",
        "sink.publish.before",
        "sink.publish.between",
    ),
    # Where an epoch that is run again has the same rows, half of them will do.
    "micro-batch": ("sink.write", "decision.after", "sink.publish.between"),
}
IN_EARNEST = {"real-time": "decision.after", "micro-batch": "sink.publish.between"}
"""Where the process dies; at the other points an image of it continues."""


class Sender:
    """Rows that flow until they are stopped, each with its number."""

    def __init__(self, topics: Topics, seed: int) -> None:
        self.sent: list[tuple[str, int]] = []
        self._topic = topics.name("in")
        self._random = random.Random(seed)
        self._producer = Producer({"bootstrap.servers": topics.servers, "enable.idempotence": True})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Sender:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def finish(self) -> None:
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(30) == 0

    def _run(self) -> None:
        for n in itertools.count():
            key = f"k{self._random.randrange(20)}"
            self.sent.append((key, n))
            self._producer.produce(self._topic, json.dumps({"k": key, "n": n}), partition=n % 2)
            if n % 5 == 4 and self._stop.wait(0.1):
                return


def finish(topics: Topics, folder: Path, mode: ms.Mode, sent: list[tuple[str, int]], spark: SparkSession) -> None:
    """A last run without faults, until every row is there; then both sinks must be right."""
    every = topics.name("every")
    run = count_job(topics.servers, topics.prefix, str(folder / "checkpoint")).start(mode, spark=spark)
    try:
        deadline = time.monotonic() + PATIENCE
        while len(topics.read(every)) < len(sent):
            assert not run.poll(0.2)
            assert time.monotonic() < deadline, "nothing happens any more"
    finally:
        run.stop()
    assert Counter((row["k"], row["n"]) for row in topics.rows(every)) == Counter(sent)
    counts = {row["k"]: (row["n"], row["last"]) for row in topics.rows(topics.name("counts"))}
    last = dict(sent)
    assert counts == {key: (n, last[key]) for key, n in Counter(key for key, _ in sent).items()}


@pytest.fixture
def folder(topics: Topics, tmp_path: Path) -> Path:
    """Where the job writes, except for its topics."""
    for topic in ("in", "every", "counts"):
        topics.create(topic, 2)
    return tmp_path / "run"


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    with Lives("tests.kafka.count_job", tmp_path_factory.mktemp("lives")) as made:
        yield made


@pytest.fixture
def job(lives: Lives, topics: Topics, folder: Path, way: Proxy, broker: Kafka) -> Job:
    return Job(lives, way, folder, (f"127.0.0.1:{way.port}", str(broker.ca), topics.prefix))


@dataclass(frozen=True)
class Job:
    """The job's lives, and its proxy to the broker."""

    lives: Lives
    way: Proxy
    folder: Path
    arguments: tuple[str, ...]

    def of(self, mode: str, timeout: str = LONG) -> Job:
        self.lives.of(self.folder, *self.arguments, mode, timeout)
        return self

    @property
    def committed(self) -> int:
        return committed(self.folder / "checkpoint")

    def imaged(self, fault: Fault) -> None:
        self.lives.imaged(fault, self.way)


@pytest.mark.parametrize("mode", POINTS)
def test_killed_at_each_named_point(topics: Topics, folder: Path, mode: str, job: Job, spark: SparkSession) -> None:
    job.of(mode)
    with Sender(topics, seed=1) as sender:
        for point in POINTS[mode]:
            kill = job.lives.killed if point == IN_EARNEST[mode] else job.imaged
            kill(Fault(point, job.committed + 3))
        sender.finish()
        finish(topics, folder, MODES[mode], sender.sent, spark)


@pytest.mark.long
def test_killed_at_random_moments(topics: Topics, folder: Path, job: Job, spark: SparkSession) -> None:
    job.of("real-time")
    moments = random.Random(2)
    with Sender(topics, seed=2) as sender:
        for _ in range(3):
            before = job.committed
            job.lives.begin()
            until(lambda b=before: job.committed > b)  # type: ignore[misc]
            time.sleep(moments.random())
            job.lives.kill()
        sender.finish()
        finish(topics, folder, MODES["real-time"], sender.sent, spark)


@pytest.mark.long
def test_what_kafka_has_thrown_away_is_written_again(
    topics: Topics, folder: Path, job: Job, spark: SparkSession
) -> None:
    """Committed to the checkpoint, not all of it to Kafka, and then away for longer than the transaction's time."""
    every = topics.name("every")

    def away(rows: range, point: str) -> list[tuple[str, int]]:
        sent = [(f"k{n % 7}", n) for n in rows]
        topics.send(topics.name("in"), *({"k": key, "n": n} for key, n in sent))
        job.of("micro-batch", "2 seconds").imaged(Fault(point))
        until(lambda: all(topics.settled(topics.name(name)) for name in ("every", "counts")))
        return sent

    sent = away(range(40), "sink.publish.between")
    assert len(topics.read(every)) < len(topics.read(every, "read_uncommitted")) == 40
    # Nor is anything lost if it is killed while it writes again: there is always one list of what is still to come.
    for point in REPAIR_POINTS:
        away(range(0), point)
    finish(topics, folder, MODES["micro-batch"], sent, spark)

    # If the topic no longer holds them either, nothing is skipped.
    away(range(40, 80), "sink.publish.before")
    topics.forget(every)
    last = count_job(topics.servers, topics.prefix, str(folder / "checkpoint"), "2 seconds")
    with pytest.raises(ms.MillstreamError) as caught:
        last.run(MODES["micro-batch"], spark=spark)
    assert caught.value.code == "MS-KAFKA-006"
    assert caught.value.at is not None
    assert f'topic "{every}" holds 0' in caught.value.message
    assert "sinks" in str(caught.value.hint)
