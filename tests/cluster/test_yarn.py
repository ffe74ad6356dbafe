"""On YARN: driver here and on the cluster, containers that are killed, Python in containers."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.find_spark_home import _find_spark_home

from servers import kafka
from servers.yarn import Yarn, running
from tests.cluster.drivers import MILLSTREAM, PYTHON, script, until
from tests.cluster.likes import Likes
from tests.cluster.losses import goes_on
from tests.kafka.broker import Topics

pytestmark = pytest.mark.long
MORE = {
    # The machines have Spark: it need not be sent to them.
    "spark.yarn.jars": f"local:{_find_spark_home()}/jars/*",
    "spark.executor.cores": "2",
    "spark.driver.memory": "600m",
}


@pytest.fixture(scope="module")
def yarn() -> Iterator[Yarn]:
    with running() as started:
        yield started


@pytest.fixture
def submitter(yarn: Yarn, driver: Any) -> Any:
    """Starts a program that knows where YARN is."""
    return partial(driver, known={"HADOOP_CONF_DIR": str(yarn.conf)}, more=MORE)


@pytest.mark.parametrize("deploy_mode", ["client", "cluster"])
def test_the_command_line(yarn: Yarn, likes: Likes, submitter: Any, deploy_mode: str) -> None:
    likes.send(range(30))
    before = set(yarn.applications())
    how = ("--mode", "available-now", "--master", "yarn", "--deploy-mode", deploy_mode, "--shared-disk")
    ran = submitter(PYTHON, "-c", MILLSTREAM, "run", *how, script("match.py"))
    ran.lines()
    assert ran.process.returncode == 0, ran.stderr
    (application,) = set(yarn.applications()) - before
    assert (f"matches: handed over, as {application}" in ran.stderr) == (deploy_mode == "cluster")
    assert ran.stderr.splitlines()[-1].startswith("matches: finished")
    assert (likes.matches, likes.popular) == (likes.expected_matches, likes.expected_popular)


def test_real_time_goes_on_when_a_container_dies(yarn: Yarn, likes: Likes, submitter: Any) -> None:
    likes.send(range(10))
    ran = submitter(PYTHON, script("real_time.py"), "yarn")
    until(lambda: likes.whole, ran)
    # As many as real time needs, because no number is set.
    assert len(yarn.executors) == 2

    goes_on(ran, likes, [lambda: os.kill(yarn.executors[0], signal.SIGKILL)])


def test_a_driver_on_the_cluster_that_dies_is_started_again(yarn: Yarn, likes: Likes, submitter: Any) -> None:
    """By YARN, on another machine as the case may be; the job continues from its checkpoint."""
    likes.send(range(10))
    how = ("--mode", "real-time", "--every", "500ms", "--restarts", "--shared-disk", "--parallelism", "2")
    where = ("--master", "yarn", "--deploy-mode", "cluster")
    before = set(yarn.applications())
    ran = submitter(PYTHON, "-c", MILLSTREAM, "run", *where, *how, script("match.py"))
    until(lambda: likes.whole, ran)

    likes.send(range(10, 30))
    (driver,) = yarn.application_masters
    os.kill(driver, signal.SIGKILL)
    likes.send(range(30, 40))
    until(lambda: likes.whole, ran)
    assert yarn.application_masters not in ([], [driver])

    ran.process.send_signal(signal.SIGINT)
    ran.lines()
    assert ran.process.returncode == 0
    assert ran.stderr.splitlines()[-1] == "matches: goes on running on yarn"
    (application,) = set(yarn.applications()) - before
    assert yarn.applications()[application] == "RUNNING"
    yarn.kill(application)
    assert (likes.matches, likes.popular) == (likes.expected_matches, likes.expected_popular)


@pytest.mark.parametrize(("deploy_mode", "mode"), [("client", "available-now"), ("cluster", "real-time")])
def test_the_jars_of_a_connector_go_along(
    yarn: Yarn, submitter: Any, tmp_path: Path, deploy_mode: str, mode: str
) -> None:
    sent = [{"customer": f"c{n % 3}", "price": n} for n in range(300)]
    with kafka.running() as broker:
        topics = Topics(broker.servers, deploy_mode)
        orders, every, totals = (topics.create(name) for name in ("orders", "every", "totals"))
        topics.send(orders, *sent)
        (tmp_path / "kafka.txt").write_text(" ".join((broker.servers, orders, every, totals)))
        where = ("--master", "yarn", "--deploy-mode", deploy_mode, "--shared-disk", "--mode", mode)
        ran = submitter(PYTHON, "-c", MILLSTREAM, "run", *where, script("from_kafka.py"))
        if mode == "real-time":
            until(lambda: len(topics.rows(every)) >= len(sent), ran)
            yarn.kill(next(name for name, state in yarn.applications().items() if state == "RUNNING"))
        ran.lines()
        assert sorted(topics.rows(every), key=lambda row: row["price"]) == sent
        expected = {f"c{n}": sum(range(n, 300, 3)) for n in range(3)}
        assert {row["customer"]: row["total"] for row in topics.rows(totals)} == expected


def test_a_job_that_fails_there(likes: Likes, submitter: Any) -> None:
    """Its driver finds no Millstream."""
    likes.send(range(3))
    folder = Path(likes.path).parent
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(folder / "bare")], check=True)
    bare = f"spark.pyspark.python={folder / 'bare' / 'bin' / 'python'}"
    how = ("--mode", "available-now", "--shared-disk", "--conf", bare, "--conf", "spark.yarn.maxAppAttempts=1")
    where = ("--master", "yarn", "--deploy-mode", "cluster")
    ran = submitter(PYTHON, "-c", MILLSTREAM, "run", *where, *how, script("match.py"))
    ran.lines()
    assert ran.process.returncode == 1
    assert 'MS-CLUSTER-015: job "matches" failed on the cluster.' in ran.stderr
    assert "`yarn logs -applicationId application_" in ran.stderr


def test_python_steps(likes: Likes, submitter: Any, tmp_path: Path) -> None:
    likes.send(range(10))
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    bare = str(tmp_path / "bare" / "bin" / "python")
    disk, lacking, done = submitter(PYTHON, script("steps.py"), "yarn", bare).lines()
    assert disk.startswith('MS-CLUSTER-004: the checkpoint of job "disk" is a folder of this machine, and yarn runs')
    assert "does not have Millstream." in lacking
    assert done == "finished"
    assert len(likes.matches) == len(likes.sent)


@pytest.mark.parametrize("deploy_mode", ["client", "cluster"])
def test_packages_that_go_along(likes: Likes, submitter: Any, tmp_path: Path, deploy_mode: str) -> None:
    """The machines' Python has only what is sent along, including the job's own modules."""
    likes.send(range(10))
    subprocess.run([PYTHON, "-c", MILLSTREAM, "pack", "millstream"], cwd=tmp_path, check=True)
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    bare = f"spark.executorEnv.MILLSTREAM_PYTHON={tmp_path / 'bare' / 'bin' / 'python'}"
    how = ("--mode", "available-now", "--shared-disk", "--environment", "env.tar.gz", "--conf", bare)
    where = ("--master", "yarn", "--deploy-mode", deploy_mode)
    ran = submitter(PYTHON, "-c", MILLSTREAM, "run", *where, *how, script("pairs.py"))
    ran.lines()
    assert ran.process.returncode == 0, ran.stderr
    assert len(likes.matches) == len(likes.sent)
