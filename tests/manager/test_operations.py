"""Operations on a job's state and code, step by step, with drivers and tasks that are real processes and no Spark."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from millstream.manager.process import start_time
from tests.manager.house import JOB, PATIENCE, House, archive, house, until


def ended(manager: House, name: str, operation: dict[str, Any], patience: float = PATIENCE) -> dict[str, Any]:
    def so() -> dict[str, Any] | None:
        found: dict[str, Any] = manager.http.get(f"/api/v1/jobs/{name}/operations/{operation['id']}").json()
        return found if found["state"] != "running" else None

    found: dict[str, Any] = until(so, f"{operation['kind']} ends", lambda: manager.job(name), patience)
    return found


def do(manager: House, name: str, what: str, **asked: Any) -> dict[str, Any]:
    answer = manager.http.post(f"/api/v1/jobs/{name}/{what}", json=asked)
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


def send(manager: House, name: str, what: str, text: str, **asked: Any) -> dict[str, Any]:
    fields = {"file": "job.py", "asked": json.dumps(asked)}
    files = {"archive": ("job.tar.gz", archive({"job.py": text}))}
    answer = manager.http.post(f"/api/v1/jobs/{name}/{what}", files=files, data=fields)
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


def runs(manager: House, name: str, **conf: str) -> None:
    told = {"fake": "run", **{f"fake.{task}": how for task, how in conf.items()}}
    answer = manager.send({"job.py": JOB.format(name=name)}, conf=told)
    assert answer.status_code == 201, answer.text
    manager.until(name, "running")


def tasks(manager: House, name: str) -> list[str]:
    """What was done, in order: `task version parallelism`."""
    file = manager.folder / "tasks"
    lines = [line for line in file.read_text().split("\n")[:-1] if line] if file.exists() else []
    return [" ".join((line.split()[1], *line.split()[3:5])) for line in lines if line.split()[0] == name]


def test_a_savepoint_is_taken_while_the_job_runs(manager: House) -> None:
    runs(manager, "steady")
    pid = manager.pid("steady")
    done = ended(manager, "steady", do(manager, "steady", "savepoint", path="/saved/here"))
    assert (done["state"], done["detail"]) == ("succeeded", "epoch 7 is saved in /saved/here")
    assert start_time(pid) is not None
    saved = manager.http.get("/api/v1/jobs/steady/savepoints").json()["items"]
    assert [(one["path"], one["epoch"], one["bytes"]) for one in saved] == [("/saved/here", 7, 48_000)]
    result = manager.http.get(f"/api/v1/jobs/steady/operations/{done['id']}/result").json()
    assert result["rows"] == 1_200


def test_stop_with_a_savepoint(manager: House) -> None:
    runs(manager, "saved")
    done = ended(manager, "saved", do(manager, "saved", "stop", savepoint=True))
    job = manager.job("saved")
    assert (done["state"], job["state"]) == ("succeeded", "suspended")
    assert job["savepoints"][0]["operation"] == done["id"]
    restored = ended(manager, "saved", do(manager, "saved", "restore", savepoint=job["savepoints"][0]["path"]))
    assert restored["state"] == "succeeded", restored
    manager.until("saved", "running", run=2)


@pytest.mark.long
def test_a_job_that_cannot_be_saved_goes_on(manager: House) -> None:
    runs(manager, "full", savepoint="fail")
    done = ended(manager, "full", do(manager, "full", "stop", savepoint=True))
    assert done["state"] == "failed"
    assert "no room" in done["detail"]
    assert manager.until("full", "running", run=2)["savepoints"] == []


@pytest.mark.long
def test_a_savepoint_counts_though_the_driver_had_to_be_killed(manager: House) -> None:
    """It does not hear that it is to stop: it is ended, and what it committed is saved."""
    answer = manager.send({"job.py": JOB.format(name="deaf")}, conf={"fake": "deaf"})
    assert answer.status_code == 201
    manager.until("deaf", "running")
    operation = do(manager, "deaf", "stop", savepoint=True)
    manager.until("deaf", "stopping")
    os.kill(manager.pid("deaf"), signal.SIGKILL)
    assert ended(manager, "deaf", operation)["state"] == "succeeded"
    assert len(manager.job("deaf")["savepoints"]) == 1


@pytest.mark.long
def test_rescale_stops_saves_restores_and_goes_on(manager: House) -> None:
    runs(manager, "wider")
    done = ended(manager, "wider", do(manager, "wider", "rescale", parallelism=5))
    job = manager.until("wider", "running", run=2)
    assert (done["state"], job["spec"]["parallelism"], job["savepoints"]) == ("succeeded", 5, [])
    assert tasks(manager, "wider") == ["savepoint 1 None", "restore 1 5"]


def test_an_upgrade_that_commits_an_epoch_stands(manager: House) -> None:
    runs(manager, "grown")
    done = ended(manager, "grown", send(manager, "grown", "upgrade", JOB.format(name="grown") + "# more\n"))
    job = manager.job("grown")
    assert done["state"] == "succeeded", done
    assert done["detail"].startswith("version 2 has committed epoch ")
    assert (job["version"], job["run"]["version"], job["state"]) == (2, 2, "running")
    assert tasks(manager, "grown") == ["diff 2 None", "savepoint 1 None", "restore 2 None"]
    assert len(job["savepoints"]) == 1


def test_an_upgrade_that_fails_goes_back_to_the_old_file(manager: House) -> None:
    runs(manager, "worse")
    done = ended(manager, "worse", send(manager, "worse", "upgrade", JOB.format(name="worse") + "# BROKEN\n"))
    job = manager.until("worse", "running", run=3)
    assert done["state"] == "failed"
    assert "version 2 has failed: MS-JOIN-002: no such column." in done["detail"]
    assert "runs again as it was" in done["detail"]
    assert (job["version"], job["run"]["version"], len(job["savepoints"])) == (1, 1, 1)
    assert tasks(manager, "worse") == [
        "diff 2 None",
        "savepoint 1 None",
        "restore 2 None",
        "fence 2 None",
        "back 1 None",
    ]


@pytest.mark.long
def test_one_that_commits_nothing_within_the_limit_goes_back(manager: House) -> None:
    runs(manager, "slower")
    text = JOB.format(name="slower") + "# STUCK\n"
    done = ended(manager, "slower", send(manager, "slower", "upgrade", text, within_s=2))
    assert "version 2 has not committed an epoch within 2 s" in done["detail"]
    assert manager.until("slower", "running", run=3)["version"] == 1


@pytest.mark.long
def test_an_upgrade_whose_state_does_not_fit_changes_nothing(manager: House) -> None:
    runs(manager, "unlike", diff="incompatible")
    pid = manager.pid("unlike")
    done = ended(manager, "unlike", send(manager, "unlike", "upgrade", JOB.format(name="unlike")))
    assert (done["state"], "counted" in done["detail"]) == ("failed", True)
    assert start_time(pid) is not None
    assert tasks(manager, "unlike") == ["diff 2 None"]


@pytest.mark.long
def test_a_diff_brings_a_version_that_an_upgrade_can_use(manager: House) -> None:
    runs(manager, "looked")
    found = ended(manager, "looked", send(manager, "looked", "diff", JOB.format(name="looked")))
    changes = manager.http.get(f"/api/v1/jobs/looked/operations/{found['id']}/result").json()["changes"]
    assert changes[0]["state"] == "kept"
    assert manager.job("looked")["version"] == 1
    answer = manager.http.post("/api/v1/jobs/looked/upgrade", data={"asked": json.dumps({"version": 2})})
    assert ended(manager, "looked", answer.json())["state"] == "succeeded"
    assert manager.job("looked")["version"] == 2
    answer = manager.http.post("/api/v1/jobs/looked/upgrade", data={"asked": json.dumps({"version": 9})})
    assert (answer.status_code, answer.json()["code"]) == (404, "MS-MANAGER-001")


@pytest.mark.long
def test_a_task_that_dies_is_repeated(manager: House) -> None:
    runs(manager, "mortal", savepoint="die")
    done = ended(manager, "mortal", do(manager, "mortal", "savepoint"))
    assert (done["state"], done["task"]) == ("succeeded", 2)


def test_a_manager_that_takes_over_goes_on_with_an_operation(tmp_path: Path) -> None:
    with house(tmp_path) as first:
        runs(first, "lasting", savepoint="wait")
        operation = do(first, "lasting", "rescale", parallelism=3)
        until(lambda: tasks(first, "lasting") == ["savepoint 1 None"], "its state is being saved")
    with house(tmp_path) as second:
        (second.folder / "go").touch()
        assert ended(second, "lasting", operation)["state"] == "succeeded"
        assert second.until("lasting", "running", run=2)["spec"]["parallelism"] == 3
        assert tasks(second, "lasting") == ["savepoint 1 None", "restore 1 3"]
        second.bury()


def test_one_change_at_a_time_and_cancel_ends_it(manager: House) -> None:
    runs(manager, "busy", savepoint="wait")
    operation = do(manager, "busy", "stop", savepoint=True)
    until(lambda: tasks(manager, "busy"), "its state is being saved")
    pid = int((manager.folder / "tasks").read_text().split()[-1])
    for what, asked in (("rescale", {"parallelism": 3}), ("start", {}), ("savepoint", {})):
        answer = manager.http.post(f"/api/v1/jobs/busy/{what}", json=asked)
        assert (answer.status_code, answer.json()["code"]) == (409, "MS-MANAGER-014")
    assert manager.http.post("/api/v1/jobs/busy/cancel").status_code == 202
    done = ended(manager, "busy", operation)
    assert (done["state"], done["detail"]) == ("failed", "admin cancelled it")
    until(lambda: start_time(pid) is None)
    assert manager.job("busy")["state"] == "cancelled"


@pytest.mark.long
def test_what_cannot_be_done_is_refused_at_once(manager: House) -> None:
    runs(manager, "here")
    fields = {"file": "job.py"}
    other = {"archive": ("job.tar.gz", archive({"job.py": JOB.format(name="there")}))}
    wrong = manager.http.post("/api/v1/jobs/here/upgrade", files=other, data=fields)
    assert (wrong.status_code, wrong.json()["code"]) == (422, "MS-MANAGER-015")
    for what, asked, status in (
        ("rescale", {"parallelism": 0}, 422),
        ("restore", {"savepoint": "/saved/x"}, 409),
        ("restore", {}, 422),
    ):
        assert manager.http.post(f"/api/v1/jobs/here/{what}", json=asked).status_code == status
    assert manager.http.post("/api/v1/jobs/nobody/savepoint").status_code == 404


@pytest.mark.long
def test_a_new_job_begins_from_a_savepoint(manager: House) -> None:
    spec = {"folder": str(manager.folder), "restarts": "never"}
    fields = {"file": "job.py", "spec": json.dumps(spec), "asked": json.dumps({"savepoint": "/saved/x"})}
    files = {"archive": ("job.tar.gz", archive({"job.py": JOB.format(name="heir")}))}
    answer = manager.http.post("/api/v1/jobs", files=files, data=fields)
    assert answer.status_code == 201, answer.text
    manager.until("heir", "running")
    assert ended(manager, "heir", manager.job("heir")["operations"][0])["state"] == "succeeded"
    assert tasks(manager, "heir") == ["restore 1 None"]
