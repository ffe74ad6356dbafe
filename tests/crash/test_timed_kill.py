"""Windows, sessions, joins within a time, rows without their doubles and timers of Python code, in one job: killed in
epoch after epoch, it says what it says without that, and what batch SQL says."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from crash.process import Process, dead, until
from crash.timed_job import CLOSING, INPUTS, LIMITS, timed_job
from millstream import journal
from millstream.testing.faults import Fault
from millstream.testing.oracle import Case, Trial, compare_last, refuse_unread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
START = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = 120
FAULTS = (
    Fault("state.during", 2),
    Fault("watermarks.after", 4),
    # The last rows of the one topic are read, those of the other are not.
    Fault("sink.publish.between", 6),
)
SINKS = ("once", "tens", "visits", "found", "hours")


def made(folder: Path) -> Trial:
    """About in the order of time, no row late; some come twice, far enough from each other to be in other epochs."""
    trial = Trial(Case(timed_job, {topic: [] for topic in INPUTS}, seed=1), folder)
    random = Random(1)
    rows = []
    for n in range(ROWS):
        when = START + timedelta(seconds=45 * n + random.randint(-60, 60))
        rows.append((random.choice(INPUTS), {"k": random.randrange(3), "v": random.randrange(4), "n": n}, when))
        if random.random() < 0.1:
            rows.append(random.choice(rows[-3:]))
    beyond = START + timedelta(days=30)
    rows += [(topic, {"k": 0, "v": CLOSING, "n": CLOSING}, beyond) for topic in INPUTS]
    for topic in INPUTS:
        with journal.producer(trial.journal, topic, durable=False) as producer:
            for name, row, when in rows:
                if name == topic:
                    # All in one partition, so that none is ahead of the other.
                    producer.send({**row, "at": when.isoformat()}, partition=0)
    return trial


def held(trial: Trial) -> dict[str, Counter[bytes | None]]:
    return {sink: Counter(record.value for record in journal.read(trial.journal, sink)) for sink in SINKS}


def process(trial: Trial, fault: Fault | None = None) -> Process:
    return Process(Path(__file__).with_name("timed_job.py"), [str(trial.folder)], trial.folder, fault)


def test_killed_in_epoch_after_epoch(spark: SparkSession, tmp_path: Path) -> None:
    straight, killed = made(tmp_path / "straight"), made(tmp_path / "killed")
    straight.job(LIMITS).run(ms.available_now(), spark=spark)
    for fault in FAULTS:
        job = process(killed, fault)
        until(lambda job=job: dead(job))  # type: ignore[misc]
        job.kill()
        assert f"fault: killed at {fault.point}" in (killed.folder / "log.txt").read_text()
    last = process(killed)
    until(lambda: dead(last))
    last.kill()
    refuse_unread(killed)
    assert all(held(straight).values()), "a sink that nothing was written to shows nothing"
    assert held(killed) == held(straight)
    compare_last(killed, spark)
