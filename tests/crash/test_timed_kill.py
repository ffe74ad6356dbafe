"""Windows, sessions, joins within a time, rows without duplicates and timers of Python code, in one job: killed in
epoch after epoch, it says what it says without that, and what batch SQL says."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal
from millstream.testing.epochs import committed, last_read
from millstream.testing.faults import Fault
from millstream.testing.oracle import compare_last, refuse_unread
from millstream.testing.trial import Case, Trial
from tests.crash.lives import Lives
from tests.crash.timed_job import CLOSING, INPUTS, LIMITS, timed_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.long]
START = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = 120
FAULTS = (
    Fault("state.during", 2),
    Fault("decision.after", 4),
    # The last rows of the one topic are read, those of the other are not.
    Fault("sink.publish.between", 6),
)
IN_EARNEST = FAULTS[1]
AT_REST = (("commits.after", 0), ("state.before", 1), ("sink.prepare.after", 1), ("commits.before", 1))
"""Behind the last epoch that has rows, and again and again in the one that then closes what they end."""
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


def test_killed_in_epoch_after_epoch(spark: SparkSession, tmp_path: Path) -> None:
    straight, killed = made(tmp_path / "straight"), made(tmp_path / "killed")
    straight.job(LIMITS).run(ms.available_now(), spark=spark)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with Lives("tests.crash.timed_job", scratch) as lives:
        lives.of(killed.folder)
        last = last_read(straight.checkpoint)
        assert last is not None
        for fault in (*FAULTS, *(Fault(point, last + more) for point, more in AT_REST)):
            if fault == IN_EARNEST:
                lives.killed(fault)
            else:
                lives.imaged(fault)
        lives.begin()
        lives.wait()
    refuse_unread(killed)
    assert max(committed(killed.checkpoint)) == max(committed(straight.checkpoint)) == last + 1
    assert all(held(straight).values()), "a sink that nothing was written to shows nothing"
    assert held(killed) == held(straight)
    compare_last(killed, spark)
