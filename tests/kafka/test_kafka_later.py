"""A program whose first job needs no Kafka, and whose later ones do: Spark runs already, and gets the jars then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import millstream
from millstream import journal
from tests.kafka.broker import Topics

PROGRAM = """
import sys

import millstream as ms
from millstream import journal, kafka
from pyspark.sql import SparkSession


def copy(name, source, mode):
    job = ms.Job(name, parallelism=1)
    job.stream(source, "n INT", name="rows").to(journal.sink("out", path="journal"))
    return job.start(mode)


copy("first", journal.source("in", path="journal"), ms.available_now()).wait()
spark = SparkSession.getActiveSession()
copy("second", kafka.source(sys.argv[1]), ms.available_now()).wait()
print("the same session" if SparkSession.getActiveSession() is spark else "another one")
run = copy("third", kafka.source(sys.argv[1]), ms.real_time("300 ms"))
while len(list(journal.read("journal", "out"))) < 3:
    run.poll(0.1)
run.stop()
"""


@pytest.mark.slow
def test_jars_come_to_a_session_that_runs_already(topics: Topics, tmp_path: Path) -> None:
    for topic in ("in", "out"):
        journal.create(tmp_path / "journal", topic, 1)
    with journal.producer(tmp_path / "journal", "in") as producer:
        producer.send({"n": 1})
    topic = topics.create("in", 1)
    topics.send(topic, {"n": 2})
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "program.py", topic],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(millstream.__file__).parent.parent)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.stdout, done.stderr) == ("the same session\n", "")
    assert [record.json() for record in journal.read(tmp_path / "journal", "out")] == [{"n": 1}, {"n": 2}, {"n": 2}]
