"""Where a job runs: on a real cluster, by each of the ways to name it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from servers.standalone import Standalone
from tests.cluster.drivers import MILLSTREAM, PYTHON, script, until
from tests.cluster.likes import Likes
from tests.cluster.losses import goes_on


def applications(cluster: Standalone) -> int:
    """How many have come to the master so far."""
    state = cluster.state()
    assert state is not None
    return len(state["activeapps"]) + len(state["completedapps"])


def test_spark_submit_is_heeded(cluster: Standalone, likes: Likes, driver: Any) -> None:
    """In batch: what the other modes must give."""
    likes.send(range(30))
    before = applications(cluster)
    submit = str(Path(PYTHON).parent / "spark-submit")
    ran = driver(submit, "--master", cluster.master, script("match.py"))
    ran.lines()
    assert ran.process.returncode == 0, ran.stderr
    assert applications(cluster) == before + 1
    assert (likes.matches, likes.popular) == (likes.expected_matches, likes.expected_popular)


@pytest.mark.long
def test_the_command_line(cluster: Standalone, likes: Likes, driver: Any) -> None:
    likes.send(range(30))
    before = applications(cluster)
    settings = ("--conf", "spark.cores.max=2", "--shared-disk", "--parallelism", "3")
    how = ("--mode", "available-now", "--master", cluster.master, *settings)
    ran = driver(PYTHON, "-c", MILLSTREAM, "run", *how, script("match.py"))
    ran.lines()
    assert ran.process.returncode == 0, ran.stderr
    assert applications(cluster) == before + 1
    assert (likes.matches, likes.popular) == (likes.expected_matches, likes.expected_popular)


@pytest.mark.long
def test_real_time_goes_on_when_executors_and_workers_die(cluster: Standalone, likes: Likes, driver: Any) -> None:
    """Four tasks on two executors: with one worker gone there are too few slots, until another one comes."""
    likes.send(range(10))
    before = applications(cluster)
    ran = driver(PYTHON, script("real_time.py"), cluster.master)
    until(lambda: likes.whole, ran)
    assert [len(worker.executors) for worker in cluster.workers] == [1, 1]

    def worker_replaced() -> None:
        cluster.kill(cluster.workers[1])
        cluster.add()

    goes_on(ran, likes, [cluster.workers[0].kill_executor, worker_replaced])
    assert applications(cluster) == before + 1  # each start had the same session


def test_python_steps(cluster: Standalone, likes: Likes, driver: Any, tmp_path: Path) -> None:
    likes.send(range(10))
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    bare = str(tmp_path / "bare" / "bin" / "python")
    disk, lacking, done = driver(PYTHON, script("steps.py"), cluster.master, bare).lines()
    assert disk.startswith('MS-CLUSTER-004: the checkpoint of job "disk" is a folder of this machine, and spark://')
    assert "the Python of the executor on" in lacking
    assert "does not have Millstream." in lacking
    assert f"{bare}: ModuleNotFoundError" in lacking
    assert "millstream pack -o env.tar.gz" in lacking
    assert done == "finished"
    wanted: dict[str, int] = {}
    expected = []
    for _, liked in likes.sent:
        wanted[liked] = wanted.get(liked, 0) + 1
        expected.append(f"{liked}-{wanted[liked]}")
    assert sorted(liked for _, liked in likes.matches) == sorted(expected)
    assert {liker for liker, _ in likes.matches} == {liker.upper() for liker, _ in likes.sent}


@pytest.mark.long
def test_packages_that_go_along(cluster: Standalone, likes: Likes, driver: Any, tmp_path: Path) -> None:
    """A Python without Millstream, and an archive with it."""
    likes.send(range(10))
    subprocess.run([PYTHON, "-c", MILLSTREAM, "pack", "millstream"], cwd=tmp_path, check=True)
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    ran = driver(PYTHON, script("packed.py"), cluster.master, str(tmp_path / "bare" / "bin" / "python"))
    nobody, done = ran.lines()
    assert nobody.startswith("MS-CLUSTER-005: step ")
    assert nobody.endswith("runs Python code, and executors have no /nowhere/python.")
    assert done == "finished", ran.stderr
    assert len(likes.matches) == len(likes.sent)
