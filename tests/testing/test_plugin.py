"""The pytest plugin, as a user's project sees it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TEST = """
import millstream as ms
from millstream import journal

job = ms.Job("odd")
job.stream(journal.source("numbers"), "n INT").where("n % 2 = 1").to(journal.sink("odd"))

def test_odd(millstream):
    assert millstream.run(job, {"numbers": [{"n": 1}, {"n": 2}]})["odd"].rows == [{"n": 1}]

def test_settings(millstream, millstream_spark):
    assert millstream.spark is millstream_spark
    assert millstream_spark.sparkContext.appName == "ours"
"""


@pytest.mark.slow
def test_a_project_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "test_odd.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmillstream_spark =\n  spark.app.name = ours\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_it_costs_nothing_until_it_is_used() -> None:
    script = "import sys, pytest_millstream; print({'millstream', 'pyspark', 'sqlglot'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.strip() == "set()"
