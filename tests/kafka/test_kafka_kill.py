"""Exactly once into Kafka, shown: the job is killed at every place that a sink meets, and at random moments."""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from broker import Topics
from confluent_kafka import Producer
from count_job import MODES, count_job

import millstream as ms
from crash.process import PATIENCE, Process, committed, dead, until
from millstream.testing.faults import REPAIR_POINTS, Fault

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

POINTS = {
    # Those where Kafka has something else to mend than after the one before.
    "real-time": (
        "sink.write",
        "sink.prepare.before",
        "sink.prepare.after",
        "commits.before",
        "sink.publish.before",
        "sink.publish.between",
    ),
    # Where an epoch that is run again has the same rows, half of them will do.
    "micro-batch": ("sink.write", "commits.before", "sink.publish.between"),
}


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


def process(
    topics: Topics, folder: Path, mode: str, fault: Fault | None = None, timeout: str = "15 minutes"
) -> Process:
    arguments = [topics.servers, topics.prefix, str(folder / "checkpoint"), mode, timeout]
    return Process(Path(__file__).with_name("count_job.py"), arguments, folder, fault)


def finish(topics: Topics, folder: Path, mode: ms.Mode, sent: list[tuple[str, int]], spark: SparkSession) -> None:
    """A last run without faults, until every row is there; then both sinks must be right."""
    every = topics.name("every")
    run = count_job(topics.servers, topics.prefix, str(folder / "checkpoint"), "15 minutes").start(mode, spark=spark)
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
    for topic in ("in", "every", "counts"):
        topics.create(topic, 2)
    return tmp_path


def killed(topics: Topics, folder: Path, mode: str, fault: Fault, timeout: str = "15 minutes") -> None:
    """A run up to its end at a fault."""
    job = process(topics, folder, mode, fault, timeout)
    until(lambda: dead(job))
    job.kill()
    assert f"fault: killed at {fault.point}" in (folder / "log.txt").read_text()


@pytest.mark.parametrize("mode", POINTS)
def test_killed_at_each_named_point(topics: Topics, folder: Path, mode: str, spark: SparkSession) -> None:
    with Sender(topics, seed=1) as sender:
        for point in POINTS[mode]:
            killed(topics, folder, mode, Fault(point, committed(folder / "checkpoint") + 3))
        sender.finish()
        finish(topics, folder, MODES[mode], sender.sent, spark)


def test_killed_at_random_moments(topics: Topics, folder: Path, spark: SparkSession) -> None:
    moments = random.Random(2)
    with Sender(topics, seed=2) as sender:
        for _ in range(3):
            before = committed(folder / "checkpoint")
            job = process(topics, folder, "real-time")
            try:
                until(lambda b=before: committed(folder / "checkpoint") > b, job)  # type: ignore[misc]
                time.sleep(moments.random())
            finally:
                job.kill()
        sender.finish()
        finish(topics, folder, MODES["real-time"], sender.sent, spark)


def test_what_kafka_has_thrown_away_is_written_again(topics: Topics, folder: Path, spark: SparkSession) -> None:
    """Committed to the checkpoint, not all of it to Kafka, and then away for longer than the transaction's time."""
    every = topics.name("every")

    def away(rows: range, point: str) -> list[tuple[str, int]]:
        sent = [(f"k{n % 7}", n) for n in rows]
        topics.send(topics.name("in"), *({"k": key, "n": n} for key, n in sent))
        killed(topics, folder, "micro-batch", Fault(point), "2 seconds")
        until(lambda: all(topics.settled(topics.name(name)) for name in ("every", "counts")))
        return sent

    sent = away(range(40), "sink.publish.between")
    assert len(topics.read(every)) < len(topics.read(every, "read_uncommitted")) == 40
    # Nor is anything lost if it is killed while it writes again: there is always one list of what is still to come.
    for point in REPAIR_POINTS:
        away(range(0), point)
    finish(topics, folder, MODES["micro-batch"], sent, spark)

    # Where the topic no longer holds them either, nothing is passed over.
    away(range(40, 80), "sink.publish.before")
    topics.forget(every)
    job = count_job(topics.servers, topics.prefix, str(folder / "checkpoint"), "2 seconds")
    with pytest.raises(ms.MillstreamError) as caught:
        job.run(MODES["micro-batch"], spark=spark)
    assert caught.value.code == "MS-KAFKA-006"
    assert caught.value.at is not None
    assert f'topic "{every}" holds 0' in caught.value.message
    assert "sinks" in str(caught.value.hint)
