"""`--deploy-mode cluster`: the driver runs on the cluster and reports from there; the cluster says when it is gone."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.find_spark_home import _find_spark_home

from millstream import journal
from millstream.manager.hand_over import Word, came_to_nothing
from millstream.manager.home import Home
from millstream.manager.process import mine
from millstream.manager.records import JobRecord, RunRecord, Spec
from millstream.manager.server import opened
from millstream.manager.service import Options
from millstream.manager.states import JobState
from millstream.manager.supervision import judge
from millstream.manager.watch import Watch
from servers import kubernetes, yarn
from servers.pod import IMAGE
from tests.manager.house import JOB, House, until

THERE: dict[str, Any] = {"deploy_mode": "cluster"}


@pytest.mark.parametrize(
    ("spec", "code", "said"),
    [
        ({"master": "spark://h:1"}, "MS-CLUSTER-006", "Spark starts no Python driver on a standalone cluster"),
        ({"master": None}, "MS-CLUSTER-006", "no cluster is named that can run it"),
        ({"master": "yarn"}, "MS-MANAGER-025", "it is not said that it has the manager's folder there"),
        ({"master": "yarn", "shared_disk": True}, "MS-CLUSTER-010", "neither HADOOP_CONF_DIR nor YARN_CONF_DIR"),
        ({"master": "k8s://https://h", "shared_disk": True}, "MS-CLUSTER-011", "no image is named"),
    ],
)
def test_what_is_missing_is_said_at_submit(
    manager: House, monkeypatch: pytest.MonkeyPatch, spec: dict[str, Any], code: str, said: str
) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    answer = manager.send({"job.py": JOB.format(name="away")}, **THERE, **spec)
    assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text
    assert said in answer.json()["message"]
    assert manager.http.get("/api/v1/jobs").json()["total"] == 0


class There:
    """A run that was handed to a cluster, and the manager's look at it, at times of the test's own."""

    def __init__(self, folder: Path) -> None:
        home = Home(folder)
        home.make()
        self.now = 0.0
        self.watch = Watch(home, (), beat_within=30.0, clock=lambda: self.now)
        run = RunRecord(1, 1, 1, 0)
        self.job = JobRecord("j", Spec(**THERE), "job.py", 1, "ann", 0, JobState.STARTING, 0, run)
        self.folder = home.run("j", 1)
        self.folder.make()
        self.word = Word(self.folder)
        self.word.say()
        self.watch.see(self.job)

    def after(self, seconds: float) -> Any:
        self.now += seconds
        return self.watch.see(self.job)

    def comes(self) -> None:
        assert self.folder.claim({**mine(), "host": "elsewhere"})
        self.folder.beat({"beats": 1})


def test_a_driver_that_waits_for_the_cluster_is_waited_for(tmp_path: Path) -> None:
    there = There(tmp_path)
    for _ in range(100):
        there.word.say(name="application_1")
        assert there.after(20).alive
    there.comes()
    assert there.after(29).alive
    assert not there.after(31).alive


def test_one_that_nobody_follows_any_more_is_given_up(tmp_path: Path) -> None:
    there = There(tmp_path)
    assert there.after(29).alive
    there.after(31)
    assert not there.after(0).alive
    assert not there.folder.claim(mine())


def test_one_that_is_cancelled_before_it_came_finds_its_run_taken(tmp_path: Path) -> None:
    there = There(tmp_path)
    there.watch.kill(there.job)
    there.after(1)
    assert not there.after(0).alive


def test_the_clusters_word_counts_before_the_heartbeat_is_missed(tmp_path: Path) -> None:
    there = There(tmp_path)
    there.comes()
    there.word.say(name="application_1")
    assert there.after(1).alive
    there.word.say(over="killed by its owner")
    seen = there.after(1)
    assert (seen.alive, seen.fresh) == (False, True)
    assert seen.died == "its driver died (application_1: killed by its owner)"


def test_what_the_cluster_did_not_take_is_an_error_of_the_run(tmp_path: Path) -> None:
    from millstream.errors import MillstreamError

    there = There(tmp_path)
    wrong = MillstreamError("MS-CLUSTER-015", 'the cluster did not take job "j".', hint="look there")
    came_to_nothing(there.folder, {"file": str(tmp_path / "job.py")}, wrong)
    verdict = judge(there.job, there.after(1), 10, 1)
    failure = verdict.job.failures[-1]
    assert (failure.code, failure.hint, verdict.job.state) == ("MS-CLUSTER-015", "look there", JobState.RESTARTING)


CONF = {
    "spark.executor.cores": "2",
    "spark.executor.instances": "1",
    "spark.executor.memory": "600m",
    "spark.driver.memory": "600m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
ON_YARN = {"spark.yarn.jars": f"local:{_find_spark_home()}/jars/*"}
AWAY = "import os\n\nassert os.environ['A'] == 'b'\n" + JOB.format(name="away")


def like(path: str, sent: Counter[str]) -> None:
    with journal.producer(path, "likes") as likes:
        for number in range(100):
            liker = f"p{number % 7}"
            likes.send({"liker": liker, "liked": "x"}, key=liker)
            sent[liker] += 1


def counted(path: str) -> Counter[str]:
    return Counter({row["liker"]: row["n"] for row in (record.json() for record in journal.read(path, "counts"))})


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the topics of a job."""
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    folder = tmp_path / "work"
    folder.mkdir()
    for topic in ("likes", "counts"):
        journal.create(str(folder / "journal"), topic, 1)
    return folder


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.server
def test_on_yarn(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with yarn.running(machines=1) as cluster:
        monkeypatch.setenv("HADOOP_CONF_DIR", str(cluster.conf))

        def kill() -> None:
            (driver,) = cluster.application_masters
            os.killpg(os.getpgid(driver), signal.SIGKILL)  # its Java process and its Python, as when a machine fails

        goes_on(work, "yarn", ON_YARN, kill, "its driver died (application_")


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.server
def test_on_kubernetes(work: Path) -> None:
    with kubernetes.running() as cluster:
        conf = {
            "spark.kubernetes.container.image": IMAGE,
            "spark.kubernetes.allocation.batch.delay": "1s",
            **kubernetes.driver_in_a_pod(cluster.master, work),
        }

        def kill() -> None:
            (driver,) = cluster.pods("driver")
            driver.kill()

        goes_on(work, cluster.master, conf, kill, "its driver died (away-")


def goes_on(work: Path, master: str, conf: dict[str, str], kill: Callable[[], None], died: str) -> None:
    spec = {"mode": "micro-batch", "every": "500ms", "master": master, "shared_disk": True, **THERE}
    with opened(Options(work.parent / "home")) as service:
        manager = House(service, work)
        answer = manager.send({"job.py": AWAY}, env="A=b", conf={**CONF, **conf}, **spec)
        assert answer.status_code == 201, answer.text
        try:
            loses_its_driver(manager, str(work / "journal"), kill, died)
        finally:
            manager.http.post("/api/v1/jobs/away/cancel")


def loses_its_driver(manager: House, path: str, kill: Callable[[], None], died: str) -> None:
    """A driver on the cluster is killed, and the manager starts another one there, from the last epoch."""
    sent = Counter[str]()

    def log() -> str:
        return str(manager.http.get("/api/v1/jobs/away/logs").text)

    like(path, sent)
    manager.until("away", "running")
    until(lambda: counted(path) == sent, "the first rows are counted", log)
    kill()
    like(path, sent)
    job = manager.until("away", "running", run=2)
    assert (job["restarts"], job["failures"][-1]["code"]) == (1, "MS-MANAGER-010")
    assert died in job["failures"][-1]["message"]
    until(lambda: counted(path) == sent, "all rows are counted once", log)
    assert "away: running" in log()
    manager.http.post("/api/v1/jobs/away/stop")
    job = manager.until("away", "suspended")
    assert job["runs"][-1]["ended"] == "stopped"
    until(lambda: over(manager), "whoever follows the driver has heard of its end", log)


def over(manager: House) -> bool:
    said = manager.service.home.run("away", 2).said_of_cluster()
    return said is not None and said["over"] is not None
