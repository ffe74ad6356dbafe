"""A session that a user made without the one setting that barriers need: the job runs, and says what it lacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
SCRIPT = """
import time
from pyspark.sql import SparkSession
import millstream as ms
from millstream import journal
from millstream.spark.packages import jar

builder = SparkSession.builder.master("local[4]").config("spark.jars", str(jar())).config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
for topic in ("rows", "counts"):
    journal.create("./journal", topic, 1)
with journal.producer("./journal", "rows") as producer:
    producer.send({"n": 1})
job = ms.Job("counting", parallelism=1)
job.stream(journal.source("rows"), "n INT").group_by("n").agg(c="count(*)").to(journal.sink("counts"))
print(job.explain().splitlines()[-1])
run = job.start(ms.real_time("300 ms"), spark=spark)
until = time.monotonic() + 90
while time.monotonic() < until and not list(journal.read("./journal", "counts")):
    run.poll(0.1)
print(run.pauses)
print([record.json() for record in journal.read("./journal", "counts")])
run.stop()
"""
LACKS = (
    'the session lacks a setting: make it with .config("spark.shuffle.manager.incremental", '
    '"millstream.barrier.BarrierShuffle")'
)


def test_the_setting_is_named_and_the_job_runs(tmp_path: Path) -> None:
    file = tmp_path / "job.py"
    file.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"warning: real time pauses between epochs: {LACKS}",
        LACKS,
        "[{'n': 1, 'c': 1}]",
    ]
    assert f'job "counting" pauses between epochs: {LACKS}' in done.stderr
