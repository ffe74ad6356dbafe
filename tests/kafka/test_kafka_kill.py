"""Exactly once into Kafka, shown: the job is killed at every place that a sink meets, and at random moments."""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from broker import Topics
from confluent_kafka import Producer

from crash.process import Process, committed, dead, until
from millstream.testing.faults import Fault

pytestmark = pytest.mark.slow

POINTS = (
    # Those where Kafka has something else to mend than after the one before.
    "sink.write",
    "sink.prepare.before",
    "sink.prepare.after",
    "commits.before",
    "sink.publish.before",
    "sink.publish.between",
)


class Sender:
    """Rows that flow until they are stopped, each with its number."""

    def __init__(self, topics: Topics, seed: int) -> None:
        self.sent: list[tuple[str, int]] = []
        self._topic = topics.name("in")
        self._random = random.Random(seed)
        self._producer = Producer({"bootstrap.servers": topics.servers})
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


def finish(topics: Topics, folder: Path, mode: str, sent: list[tuple[str, int]]) -> None:
    """A last run without faults, until every row is there; then both sinks must be right."""
    job = process(topics, folder, mode)
    try:
        until(lambda: len(topics.read(topics.name("every"))) >= len(sent), job, every=0.5)
    finally:
        job.kill()
    assert Counter((row["k"], row["n"]) for row in topics.rows(topics.name("every"))) == Counter(sent)
    counts = {row["k"]: (row["n"], row["last"]) for row in topics.rows(topics.name("counts"))}
    last = dict(sent)
    assert counts == {key: (n, last[key]) for key, n in Counter(key for key, _ in sent).items()}


@pytest.fixture
def folder(topics: Topics, tmp_path: Path) -> Path:
    for topic in ("in", "every", "counts"):
        topics.create(topic, 2)
    return tmp_path


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_killed_at_each_named_point(topics: Topics, folder: Path, mode: str) -> None:
    with Sender(topics, seed=1) as sender:
        for point in POINTS:
            job = process(topics, folder, mode, Fault(point, committed(folder / "checkpoint") + 3))
            until(lambda job=job: dead(job))  # type: ignore[misc]
            job.kill()
            assert f"fault: killed at {point}" in (folder / "log.txt").read_text()
        sender.finish()
        finish(topics, folder, mode, sender.sent)


def test_killed_at_random_moments(topics: Topics, folder: Path) -> None:
    moments = random.Random(2)
    with Sender(topics, seed=2) as sender:
        for _ in range(4):
            before = committed(folder / "checkpoint")
            job = process(topics, folder, "real-time")
            try:
                until(lambda b=before: committed(folder / "checkpoint") > b, job)  # type: ignore[misc]
                time.sleep(moments.random())
            finally:
                job.kill()
        sender.finish()
        finish(topics, folder, "real-time", sender.sent)


def test_what_kafka_has_thrown_away_is_not_passed_over(topics: Topics, folder: Path) -> None:
    """Committed to the checkpoint, not yet to Kafka, and then away for longer than the transaction's time."""
    topics.send(topics.name("in"), *({"k": f"k{n}", "n": n} for n in range(40)))
    job = process(topics, folder, "micro-batch", Fault("sink.publish.before"), "2 seconds")
    until(lambda: dead(job))
    job.kill()
    topics.send(topics.name("every"), {"k": "later", "n": 0}, partition=0)
    topics.send(topics.name("every"), {"k": "later", "n": 1}, partition=1)
    until(lambda: len(topics.rows(topics.name("every"))) == 2)
    again = process(topics, folder, "micro-batch", timeout="2 seconds")
    until(lambda: dead(again))
    again.kill()
    assert "MS-KAFKA-006" in (folder / "log.txt").read_text()
