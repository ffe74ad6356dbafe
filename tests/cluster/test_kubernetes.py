"""On Kubernetes, whose pods are processes here: what pods are asked for, and what happens when one is lost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from servers.kubernetes import Kubernetes, running
from servers.pod import IMAGE
from tests.cluster.drivers import MILLSTREAM, PYTHON, script, until
from tests.cluster.likes import Likes
from tests.cluster.losses import goes_on

pytestmark = pytest.mark.long
MORE = {
    "spark.kubernetes.container.image": IMAGE,
    "spark.executor.cores": "2",
    # Pods are asked for every second, and their losses looked for as often.
    "spark.kubernetes.allocation.batch.delay": "1s",
    "spark.kubernetes.executor.eventProcessingInterval": "200ms",
}


@pytest.fixture(scope="module")
def kubernetes() -> Iterator[Kubernetes]:
    with running() as started:
        yield started


@pytest.fixture
def submitter(driver: Any) -> Any:
    """Starts a program whose Spark knows an image."""
    return partial(driver, more=MORE)


def test_the_command_line(kubernetes: Kubernetes, likes: Likes, submitter: Any) -> None:
    likes.send(range(30))
    how = ("--mode", "available-now", "--master", kubernetes.master, "--deploy-mode", "client", "--shared-disk")
    ran = submitter(PYTHON, "-c", MILLSTREAM, "run", *how, script("match.py"))
    ran.lines()
    assert ran.process.returncode == 0, ran.stderr
    assert (likes.matches, likes.popular) == (likes.expected_matches, likes.expected_popular)
    until_gone(kubernetes)


def until_gone(kubernetes: Kubernetes) -> None:
    """Spark deletes the pods of a driver that has ended."""
    while kubernetes.api.listed("pods") or kubernetes.pods():
        assert kubernetes.failure is None


def test_real_time_goes_on_when_pods_are_lost(kubernetes: Kubernetes, likes: Likes, submitter: Any) -> None:
    """One whose process is killed, and one that is deleted."""
    likes.send(range(10))
    ran = submitter(PYTHON, script("real_time.py"), kubernetes.master)
    until(lambda: likes.whole, ran)
    first = kubernetes.pods()
    # As many as real time needs, because no number is set.
    assert len(first) == 2
    memory = first[0].spec["spec"]["containers"][0]["resources"]["limits"]["memory"]
    assert memory == "984Mi"  # 600, and what Spark adds

    def deleted() -> None:
        assert kubernetes.pods() != first  # the first one was replaced
        kubernetes.delete(first[1])

    goes_on(ran, likes, [first[0].kill, deleted])


def test_python_steps(kubernetes: Kubernetes, likes: Likes, submitter: Any, tmp_path: Path) -> None:
    likes.send(range(10))
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    bare = str(tmp_path / "bare" / "bin" / "python")
    disk, lacking, done = submitter(PYTHON, script("steps.py"), kubernetes.master, bare).lines()
    assert disk.startswith('MS-CLUSTER-004: the checkpoint of job "disk" is a folder of this machine, and k8s://')
    assert "does not have Millstream." in lacking
    assert done == "finished"
    assert len(likes.matches) == len(likes.sent)


def test_an_image_that_is_not_there(kubernetes: Kubernetes, likes: Likes, driver: Any) -> None:
    """Pods that never run: the job says what it is waiting for."""
    more = {**MORE, "spark.kubernetes.container.image": "nobody/has-this"}
    likes.send(range(3))
    ran = driver(PYTHON, script("impatient.py"), kubernetes.master, more=more)
    (line,) = ran.lines()
    assert line.startswith(f"MS-RUN-003: a job needs a task slot, and {kubernetes.master} has given 0 within 5 s. |")
    assert "`kubectl describe pod` show what the pods wait for" in line
