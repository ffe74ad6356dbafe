"""Three managers on a real ZooKeeper: whichever fails, another one leads, and no job is started twice."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from millstream.errors import MillstreamError
from millstream.manager.bundle import pack
from millstream.manager.process import start_time
from millstream.manager.zookeeper import ZooKeeper as Connection
from servers import zookeeper_ensemble
from servers.zookeeper_ensemble import Ensemble
from soak.managers import Manager, Managers, running
from tests.manager.house import DRIVER, JOB, ROOT, until

pytestmark = [pytest.mark.server, pytest.mark.slow]


@dataclass
class Team:
    managers: Managers
    zookeeper: Ensemble
    work: Path

    def submit(self, name: str, to: Manager, conf: dict[str, str] | None = None) -> None:
        file = self.work / "job.py"
        file.write_text(JOB.format(name=name))
        spec = {"folder": str(self.work), "restarts": "50/100ms", "conf": conf or {}}
        self.managers.client(to).upload("/api/v1/jobs", pack(file), {"file": "job.py", "spec": json.dumps(spec)})

    def job(self, name: str) -> dict[str, Any] | None:
        for manager in self.managers.all:
            if not manager.stopped and manager.answers():
                found: dict[str, Any] = self.managers.client(manager).get(f"/api/v1/jobs/{name}")
                return found
        return None

    def running(self, name: str, run: int = 1) -> dict[str, Any]:
        def so() -> dict[str, Any] | None:
            found = self.job(name)
            return found if found and found["state"] == "running" and found["run"]["number"] >= run else None

        found: dict[str, Any] = until(so, f"{name} runs", lambda: self.job(name))
        return found

    def tasks(self, name: str) -> list[str]:
        file = self.work / "tasks"
        lines = file.read_text().split("\n")[:-1] if file.exists() else []  # whole ones
        return [line.split()[1] for line in lines if line.split()[0] == name]

    def starts(self, name: str) -> list[list[str]]:
        lines = (self.work / "starts").read_text().splitlines()
        return [line.split() for line in lines if line.split()[0] == name]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("team")
    work = folder / "work"
    work.mkdir()
    with pytest.MonkeyPatch.context() as patched, zookeeper_ensemble.running() as nodes:
        patched.setenv("PYTHONPATH", str(ROOT))
        with running(folder, nodes, DRIVER) as managers:
            yield Team(managers, nodes, work)
        for claim in (folder / "home").glob("jobs/*/runs/*/claim.json"):
            told = json.loads(claim.read_text())
            if "pid" in told and start_time(told["pid"]) == told["started"]:
                os.killpg(told["pid"], signal.SIGKILL)


def test_any_manager_takes_a_job_and_shows_it(team: Team) -> None:
    leader, _ = team.managers.await_leader()
    followers = [each for each in team.managers.all if each is not leader]
    team.submit("shared", followers[0])
    team.running("shared")
    for manager in team.managers.all:
        assert team.managers.client(manager).get("/api/v1/jobs/shared")["name"] == "shared"
        assert len(team.managers.members(manager)) == 3


@pytest.mark.parametrize("fault", ["kill", "pause", "cut_off"])
def test_another_one_leads_and_jobs_go_on(team: Team, fault: str) -> None:
    name = f"through_{fault}"
    old, _ = team.managers.await_leader()
    team.submit(name, old)
    pid = int(team.starts(name)[0][2]) if team.running(name) else 0
    getattr(old, fault)()
    new, _ = team.managers.await_leader(other_than=old)
    assert new is not old
    assert start_time(pid) is not None, "its driver noticed nothing"
    os.kill(pid, signal.SIGKILL)  # and the new leader looks after it
    restored = until(lambda: len(team.starts(name)) == 2, "started again by the new leader")
    assert restored
    back(old, fault)
    team.running(name, run=2)
    until(lambda: len(team.managers.members(new)) == 3, "the old one is a member again")
    assert [start[1] for start in team.starts(name)] == ["1", "2"], "no run has two processes"
    assert team.job(name) is not None
    leaderships = {run["leader"] for run in (team.job(name) or {})["runs"]}
    assert (team.job(name) or {})["run"]["leader"] > max(leaderships)


@pytest.mark.parametrize("fault", ["kill", pytest.param("pause", marks=pytest.mark.long)])
def test_an_operation_goes_on_under_another_leader(team: Team, fault: str) -> None:
    """Its state is being saved when the leader fails: the next one finds the task, and does the rest, once."""
    name, go = f"operated_{fault}", team.work / "go"
    go.unlink(missing_ok=True)
    old, _ = team.managers.await_leader()
    team.submit(name, old, {"fake": "run", "fake.savepoint": "wait"})
    team.running(name)
    operation = team.managers.client(old).post(f"/api/v1/jobs/{name}/rescale", {"parallelism": 3})
    until(lambda: team.tasks(name) == ["savepoint"], "its state is being saved")
    getattr(old, fault)()
    team.managers.await_leader(other_than=old)
    go.touch()

    def ended() -> dict[str, Any] | None:
        known = {each["id"]: each for each in (team.job(name) or {"operations": []})["operations"]}
        found = known.get(operation["id"])
        return found if found and found["state"] != "running" else None

    assert until(ended, "the operation ends")["state"] == "succeeded"
    back(old, fault)
    assert team.running(name, run=2)["spec"]["parallelism"] == 3
    until(lambda: len(team.managers.members(old)) == 3, "the old one is a member again")
    assert team.tasks(name) == ["savepoint", "restore"]
    assert len(team.starts(name)) == 2


def back(manager: Manager, fault: str) -> None:
    if fault == "kill":
        manager.start()
        manager.wait()
    elif fault == "pause":
        manager.wake()
    else:
        manager.mend()


def test_what_a_leader_that_was_replaced_writes_is_not_taken(team: Team) -> None:
    """Its write was on its way when it was stopped: ZooKeeper compares the number of its leadership."""
    from millstream.manager.documents import Changed, NotLeading
    from millstream.manager.zookeeper import Election, ZooKeeperDocuments

    class Former(Election):
        def __init__(self, number: int) -> None:
            self._held = number

        def number(self) -> int | None:
            return self._held

        def deposed(self) -> None:
            """It goes on as if it had not heard."""

    connection = Connection(f"zk://{team.zookeeper.hosts}/millstream")
    try:
        _, current = connection.get("/epoch")
        former = ZooKeeperDocuments(connection, Former(current - 1))
        document = former.read("shared")
        assert document is not None
        with pytest.raises(NotLeading):
            former.replace(document, "{}")
        with pytest.raises(NotLeading):
            former.create("ghost", "{}")
        now = ZooKeeperDocuments(connection, Former(current))
        with pytest.raises(Changed):
            now.create("shared", "{}")
        assert former.read("ghost") is None
    finally:
        connection.close()


def test_jobs_go_on_without_zookeeper_and_managers_wait(team: Team) -> None:
    team.running("shared")
    pid = int(team.starts("shared")[-1][2])
    for node in team.zookeeper.nodes:
        node.stop()
    manager = team.managers.all[0]
    until(lambda: not any(each["leads"] for each in team.managers.members(manager)), "nobody leads")
    with pytest.raises(MillstreamError, match="MS-MANAGER-503"):
        team.managers.client(manager).post("/api/v1/jobs/shared/stop")
    assert team.managers.client(manager).get("/api/v1/jobs")["total"] >= 1, "what was last known is shown"
    for node in team.zookeeper.nodes:
        node.start()
    team.zookeeper.wait()
    team.managers.await_leader()
    assert start_time(pid) is not None
    assert int(team.starts("shared")[-1][2]) == pid


def test_a_zookeeper_that_is_not_there_is_named() -> None:
    with pytest.raises(MillstreamError, match="MS-MANAGER-024"):
        Connection("zookeeper.example:2181")
