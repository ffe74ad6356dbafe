"""Savepoints on the command line: of a job that runs in another process, restored after a kill at every place of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from millstream import journal
from tests.cli.conftest import Cli, Start, environment

JOB = """
import millstream as ms
from millstream import journal

job = ms.Job("likes")
likes = job.stream(journal.source("likes"), schema="liker STRING, liked STRING")
likes.group_by("liked").agg(n="count(*)").named("popular").to(journal.sink("popular", changelog=True))
"""
PLACES = ("restore.laid_out", "restore.built", "restore.retired")


@pytest.fixture
def likes(tmp_path: Path) -> Path:
    (tmp_path / "likes.py").write_text(JOB)
    for topic in ("likes", "popular"):
        journal.create(tmp_path / "journal", topic, 1)
    send(tmp_path)
    return tmp_path


def send(folder: Path) -> None:
    with journal.producer(folder / "journal", "likes") as producer:
        for n in range(10):
            producer.send({"liker": f"a{n}", "liked": f"b{n % 2}"})


def counts(folder: Path) -> dict[str, int]:
    """What the sink's changes sum up to; an error if one is duplicated."""
    found: dict[str, int] = {}
    for record in journal.read(folder / "journal", "popular"):
        row: dict[str, Any] = record.json()
        if row["op"] == "delete":
            assert found.pop(row["liked"]) == row["n"]
        else:
            assert row["liked"] not in found
            found[row["liked"]] = row["n"]
    return found


def wait_until(folder: Path, n: int) -> None:
    for _ in range(600):
        if counts(folder) == {"b0": n, "b1": n}:
            return
        time.sleep(0.2)
    raise AssertionError(counts(folder))


@pytest.mark.slow
def test_of_a_job_that_runs(likes: Path, started: Start, cli: Cli) -> None:
    """It is saved while it runs, and continues; then it is asked to stop, and continues at another parallelism."""
    running = started("run", "likes.py", "--mode", "real-time", "--every", "200ms", "--quiet")
    wait_until(likes, 5)
    saved = cli("savepoint", "likes.py", "saved")
    assert saved.returncode == 0, saved.stderr
    assert saved.stdout.startswith("likes: epoch ")
    assert "2 rows of state" in saved.stdout
    send(likes)
    wait_until(likes, 10)
    refused = cli("restore", "likes.py", "saved", "--checkpoint", "next")
    assert refused.returncode == 1
    assert "MS-SAVEPOINT-009" in refused.stderr
    moved = cli("rescale", "likes.py", "--to", "3", "--stop")
    assert moved.returncode == 0, moved.stderr
    assert "equal" in moved.stdout
    assert "likes: 2 -> 3" in moved.stdout
    running.communicate(timeout=60)
    assert running.returncode == 0
    send(likes)
    done = cli("run", "likes.py", "--mode", "available-now", "--parallelism", "3", "--quiet")
    assert done.returncode == 0, done.stderr
    assert counts(likes) == {"b0": 15, "b1": 15}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("place", PLACES)
def test_killed_while_it_is_restored(
    place: str, likes: Path, cli: Cli, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Until all is in place, no run begins from what is there. Restored again, nothing is lost or duplicated."""
    assert cli("run", "likes.py", "--mode", "available-now", "--quiet").returncode == 0
    assert cli("savepoint", "likes.py", "saved").returncode == 0
    command = [sys.executable, "-c", "from millstream.cli.main import main; main()"]
    restore = ["restore", "likes.py", "saved", "--checkpoint", "next", "--parallelism", "3"]
    settings = {**environment(tmp_path_factory.mktemp("tmp")), "MILLSTREAM_FAULT": place, "HOME": os.environ["HOME"]}
    killed = subprocess.run([*command, *restore], cwd=likes, env=settings, capture_output=True, text=True)
    assert killed.returncode == 137, killed.stderr
    begun = cli("run", "likes.py", "--checkpoint", "next", "--mode", "available-now", "--parallelism", "3", "--quiet")
    if place == "restore.retired":
        assert begun.returncode == 0, begun.stderr
    else:
        assert "MS-CHECKPOINT-014" in begun.stderr
        assert cli(*restore).returncode == 0
    send(likes)
    cli("run", "likes.py", "--checkpoint", "next", "--mode", "available-now", "--parallelism", "3", "--quiet")
    assert counts(likes) == {"b0": 10, "b1": 10}


@pytest.mark.slow
def test_diff_tells_programs(likes: Path, cli: Cli) -> None:
    """For a checkpoint, too; the exit code says whether the job could continue."""
    assert cli("run", "likes.py", "--mode", "available-now", "--quiet").returncode == 0
    same = cli("diff", ".millstream/likes", "likes.py", "--json")
    assert same.returncode == 0, same.stderr
    assert [(one["name"], one["state"]) for one in json.loads(same.stdout)["changes"]] == [
        ("popular", "kept"),
        ("likes", "kept"),
    ]
    (likes / "likes2.py").write_text(JOB.replace('group_by("liked")', 'group_by("liker")'))
    other = cli("diff", ".millstream/likes", "likes2.py")
    assert other.returncode == 1
    assert "incompatible" in other.stdout
    assert "its key was liked (string) and is liker (string)" in other.stdout
