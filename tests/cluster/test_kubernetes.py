"""On Kubernetes, whose pods are processes here: what pods are asked for, and what happens when one is lost."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from servers.kubernetes import Kubernetes, driver_in_a_pod, running
from servers.pod import IMAGE, Pod
from tests.cluster.drivers import MILLSTREAM, PYTHON, Driver, script, until
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
        time.sleep(0.1)


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


@pytest.fixture
def handed(kubernetes: Kubernetes, driver: Any, tmp_path: Path) -> Iterator[Any]:
    """Hands a job over, whose driver gets a pod. Afterwards that is deleted, and with it all that belongs to it."""
    there = {**MORE, "spark.driver.memory": "600m", **driver_in_a_pod(kubernetes.master, tmp_path)}

    def hand_over(job: str, *options: str) -> Driver:
        how = ("--mode", "available-now", "--master", kubernetes.master, "--deploy-mode", "cluster", "--shared-disk")
        started: Driver = driver(PYTHON, "-c", MILLSTREAM, "run", *how, *options, script(job), more=there)
        return started

    yield hand_over
    for one in kubernetes.all_pods("driver"):
        kubernetes.delete(one)
    until_gone(kubernetes)
    while any("ownerReferences" in one["metadata"] for one in others(kubernetes)):
        assert kubernetes.failure is None
        time.sleep(0.1)


def others(kubernetes: Kubernetes) -> list[dict[str, Any]]:
    return [one for plural in ("services", "configmaps") for one in kubernetes.api.listed(plural)]


def its_driver(kubernetes: Kubernetes) -> Pod:
    (found,) = kubernetes.all_pods("driver")
    return found


def test_the_driver_in_a_pod(kubernetes: Kubernetes, likes: Likes, handed: Any) -> None:
    likes.send(range(30))
    ran = handed("match.py")
    ran.lines()
    assert ran.process.returncode == 0, ran.stderr
    pod = its_driver(kubernetes)
    assert ran.stderr.splitlines() == [
        f"matches: starting on {kubernetes.master}",
        f"matches: handed over, as {pod.name}; Ctrl-C leaves it running",
        "matches: finished",
    ]
    assert (likes.matches, likes.popular) == (likes.expected_matches, likes.expected_popular)
    assert kubernetes.pods() == []  # a driver that has ended leaves no executors
    assert "ERROR" not in pod.log


def test_a_driver_in_a_pod_that_dies(kubernetes: Kubernetes, likes: Likes, handed: Any) -> None:
    """It is killed while it works; the next one goes on from the checkpoint."""
    likes.send(range(30))
    ran = handed("match.py")
    until(lambda: "matches: running" in "".join(pod.log for pod in kubernetes.pods("driver")), ran)
    first = its_driver(kubernetes)
    first.kill()
    ran.lines()
    assert ran.process.returncode == 1
    assert ran.stderr.splitlines()[-3:-1] == [
        'MS-CLUSTER-015: job "matches" failed on the cluster.',
        "  found: its pod ended with exit code 137 (Error)",
    ]
    kubernetes.delete(first)
    until_gone(kubernetes)

    ran = handed("match.py")
    ran.lines()
    assert ran.process.returncode == 0, ran.stderr
    assert (likes.matches, likes.popular) == (likes.expected_matches, likes.expected_popular)


def test_a_driver_in_a_pod_without_millstream(
    kubernetes: Kubernetes, likes: Likes, handed: Any, tmp_path: Path
) -> None:
    likes.send(range(3))
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    ran = handed("match.py", "--conf", f"spark.pyspark.python={tmp_path / 'bare' / 'bin' / 'python'}")
    ran.lines()
    assert ran.process.returncode == 1
    pod = its_driver(kubernetes)
    assert 'MS-CLUSTER-015: job "matches" failed on the cluster.' in ran.stderr
    assert "  found: its pod ended with exit code 1 (Error)" in ran.stderr
    assert f"  hint:  `kubectl logs {pod.name}` shows what the driver said" in ran.stderr
    assert "MS-CLUSTER-005: the driver's Python" in pod.log


def test_a_driver_in_a_pod_whose_image_is_not_there(likes: Likes, handed: Any) -> None:
    ran = handed("match.py", "--conf", "spark.kubernetes.driver.container.image=nobody/has-this")
    until(lambda: "matches: its driver does not start: ErrImagePull" in ran.stderr, ran)
    ran.process.send_signal(signal.SIGINT)
    ran.lines()
    assert ran.process.returncode == 0
    assert "matches: goes on running" in ran.stderr.splitlines()[-1]


def test_packages_that_go_along_to_a_driver_in_a_pod(likes: Likes, handed: Any, tmp_path: Path) -> None:
    """The image's Python has only what is sent along, including the job's own modules."""
    likes.send(range(10))
    subprocess.run([PYTHON, "-c", MILLSTREAM, "pack", "millstream"], cwd=tmp_path, check=True)
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    bare = f"spark.executorEnv.MILLSTREAM_PYTHON={tmp_path / 'bare' / 'bin' / 'python'}"
    ran = handed("pairs.py", "--environment", "env.tar.gz", "--conf", bare)
    ran.lines()
    assert ran.process.returncode == 0, ran.stderr
    assert len(likes.matches) == len(likes.sent)
