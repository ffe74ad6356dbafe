"""A job is killed at each named place and started again: every row is in the sinks, and none twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from crash_job import ROWS, run
from pyspark.sql import SparkSession
from segment_bytes import Record, make_topic, write_segment
from sink_run import contents

pytestmark = pytest.mark.slow

SINK = [
    "sink.write",
    "sink.prepare.before",
    "sink.prepare.after",
    "sink.publish.before",
    "sink.publish.between",
    "sink.publish.after",
]
CHECKPOINT = ["offsets.before", "offsets.after", "commits.before", "commits.after"]
STATE = ["state.before", "state.during", "state.after"]


def crash(folder: Path, jar: Path, mode: str, fault: str) -> str:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("crash_job.py")), str(folder), str(jar), mode],
        env={**os.environ, "MILLSTREAM_FAULT": fault},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stderr


FAULTS = [
    # In real time the first epochs may be over before their tasks begin: so the first visit, at any epoch.
    *(("real-time", point) for point in SINK + CHECKPOINT),
    *(("micro-batch", f"{point}@1") for point in SINK + CHECKPOINT),
    ("micro-batch", "offsets.before@0"),
    # Epoch 1 writes version 2 of the state.
    *(("stateful", f"{point}@2") for point in STATE),
]


@pytest.mark.parametrize(("mode", "fault"), FAULTS)
def test_every_row_once(spark: SparkSession, jar: Path, tmp_path: Path, mode: str, fault: str) -> None:
    source = make_topic(tmp_path, "in", 2)
    for partition in range(2):
        values = range(partition * ROWS // 2, (partition + 1) * ROWS // 2)
        write_segment(source / str(partition), 0, [Record(f"k{i}".encode(), str(i).encode()) for i in values])
    make_topic(tmp_path, "all", 2)
    make_topic(tmp_path, "even", 2)
    assert f"fault: killed at {fault}" in crash(tmp_path, jar, mode, fault)

    run(spark, tmp_path, tmp_path / "checkpoint", mode, 40)

    expected = sorted(str(i).encode() for i in range(ROWS))
    assert sorted(value or b"" for _, value in contents(tmp_path, "all")) == expected
    assert sorted(value or b"" for _, value in contents(tmp_path, "even")) == sorted(
        value for value in expected if int(value) % 2 == 0
    )
    for topic in ("all", "even"):
        assert list((tmp_path / topic / "prepared").glob("*")) == []
        assert list((tmp_path / topic).glob("*/open/*")) == []
