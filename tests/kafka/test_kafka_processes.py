"""Jobs as processes: stopped, started twice, and presumed dead."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from tests.crash.process import PATIENCE, Process, committed, until
from tests.kafka.broker import Topics
from tests.kafka.count_job import MODES, count_job
from tests.kafka.test_kafka_kill import Sender, finish

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(topics: Topics, tmp_path: Path) -> Path:
    for topic in ("in", "every", "counts"):
        topics.create(topic, 2)
    return tmp_path


def process(topics: Topics, folder: Path, mode: str) -> Process:
    arguments = [topics.servers, topics.prefix, str(folder / "checkpoint"), mode]
    return Process(Path(__file__).with_name("count_job.py"), arguments, folder)


def advanced(folder: Path, job: Process, epochs: int = 2) -> None:
    before = committed(folder / "checkpoint")
    until(lambda: committed(folder / "checkpoint") >= before + epochs, job)


def test_told_to_stop_it_leaves_nothing_open(topics: Topics, folder: Path) -> None:
    """By SIGTERM, as `docker stop` does: what was open would hold up readers of committed rows."""
    job = process(topics, folder, "one-epoch")
    try:
        topics.send(topics.name("in"), *({"k": "a", "n": n} for n in range(10)))
        until(lambda: len(topics.read(topics.name("every"), "read_uncommitted")) == 10, job)
        assert not topics.settled(topics.name("every"))
        os.kill(job.process.pid, signal.SIGTERM)
        assert job.process.wait(PATIENCE) == 0
        assert all(topics.settled(topics.name(name)) for name in ("every", "counts"))
    finally:
        job.kill()


def test_one_that_was_thought_to_be_dead_writes_nothing_more(topics: Topics, folder: Path, spark: SparkSession) -> None:
    """It hangs, another run takes its place where no lock holds it back, and then it wakes up."""
    with Sender(topics, seed=5) as sender:
        first = process(topics, folder, "real-time")
        try:
            advanced(folder, first)
            os.killpg(first.process.pid, signal.SIGSTOP)
            (folder / "checkpoint" / "spark" / "lock").unlink()
            sender.finish()
            finish(topics, folder, MODES["real-time"], sender.sent, spark)
            os.killpg(first.process.pid, signal.SIGCONT)
            assert first.process.wait(PATIENCE) != 0
        finally:
            first.kill()
        finish(topics, folder, MODES["real-time"], sender.sent, spark)


def test_a_second_run_is_refused_and_takes_nothing_away(topics: Topics, folder: Path, spark: SparkSession) -> None:
    """As in a deployment that starts the new process before the old one has ended."""
    with Sender(topics, seed=3) as sender:
        first = process(topics, folder, "real-time")
        try:
            advanced(folder, first)
            second = count_job(topics.servers, topics.prefix, str(folder / "checkpoint"))
            with pytest.raises(ms.MillstreamError) as caught:
                second.run(MODES["real-time"], spark=spark)
            assert caught.value.code == "MS-CHECKPOINT-005"
            advanced(folder, first)
        finally:
            first.kill()
        sender.finish()
        finish(topics, folder, MODES["real-time"], sender.sent, spark)
