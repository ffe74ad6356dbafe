"""A service manager ends all processes of a job at once, its JVM too: the job stops as cleanly as by Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from millstream import journal
from tests.cli.conftest import environment

JOB = """
import millstream as ms
from millstream import journal

job = ms.Job("counts", checkpoint="checkpoint", parallelism=1)
rows = job.stream(journal.source("in", path="journal"), "id INT")
rows.group_by("id").agg(n="count(*)").to(journal.sink("out", path="journal"))
job.run({mode})
print("stopped well")
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["ms.real_time('1 second')", "ms.micro_batch('100 ms')"])
def test_all_processes_are_told_to_end_in_mid_epoch(mode: str, tmp_path: Path) -> None:
    for topic in ("in", "out"):
        journal.create(tmp_path / "journal", topic, 1)
    (tmp_path / "job.py").write_text(JOB.format(mode=mode))
    process = subprocess.Popen(
        [sys.executable, "job.py"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        with journal.producer(tmp_path / "journal", "in") as producer:
            while process.poll() is None and len(list(journal.read(tmp_path / "journal", "out"))) < 2:
                producer.send({"id": 1})
                producer.flush()
                time.sleep(0.05)
            producer.send({"id": 1})  # something for an epoch to be busy with
        os.killpg(process.pid, signal.SIGTERM)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert (out, err, process.returncode) == ("stopped well\n", "", 0)
