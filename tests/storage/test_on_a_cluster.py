"""Executors of a cluster read and write HDFS and S3 themselves: with the jars and settings that the driver sends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream import journal
from servers.s3 import PASSWORD, S3, settings
from servers.standalone import Standalone, running
from tests.storage.test_jobs import latest, send, values

pytestmark = [pytest.mark.slow, pytest.mark.server, pytest.mark.long]
JOB = Path(__file__).with_name("cluster_job.py")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Standalone]:
    with running(workers=1, cores=4, memory="1g") as started:
        yield started


@pytest.mark.parametrize("mode", ["available-now", "batch"])
def test_a_job_on_a_cluster(
    elsewhere: str, mode: str, s3: S3, cluster: Standalone, spark: SparkSession, tmp_path: Path
) -> None:
    for topic in ("numbers", "even", "thirds"):
        journal.create(f"{elsewhere}/journal", topic, 2)
    for numbers in (range(300), range(300, 600)) if mode == "available-now" else (range(600),):
        send(elsewhere, numbers)
        run(elsewhere, mode, s3, cluster, tmp_path)
    assert values(elsewhere, "even") == Counter(f'{{"n": {n}}}' for n in range(600))
    expected = {third: sum(n for n in range(600) if n % 3 == third) for third in range(3)}
    assert {third: row["sum"] for third, row in latest(elsewhere, "thirds").items()} == expected
    rows = spark.read.parquet(f"{elsewhere}/rows").collect()
    assert Counter((row.n, row.third) for row in rows) == Counter((n, n % 3) for n in range(600))


def run(place: str, mode: str, s3: S3, cluster: Standalone, folder: Path) -> None:
    reach = settings(s3.endpoint) if place.startswith("s3a") else {}
    conf = {f"spark.hadoop.{name}": value for name, value in reach.items()} | {"spark.executor.memory": "600m"}
    given = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    command = "from millstream.cli.main import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", command, "run", "--mode", mode, "--quiet", "--master", cluster.master, *given, str(JOB)],
        env={**os.environ, "PLACE": place, "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert PASSWORD not in ran.stdout + ran.stderr
