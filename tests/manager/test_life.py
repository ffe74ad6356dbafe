"""The life of a job under a manager, with drivers that are real processes and no Spark."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from millstream.manager.process import start_time
from tests.manager.house import DRIVER, House, house, until


def test_a_job_is_submitted_runs_and_is_stopped(manager: House) -> None:
    assert manager.submit("steady")["version"] == 1
    job = manager.until("steady", "running")
    assert [move["after"] for move in job["moves"]] == ["starting", "running"]
    assert job["operations"][0]["state"] == "succeeded"
    pid = manager.pid("steady")
    stop = manager.http.post("/api/v1/jobs/steady/stop").json()
    job = manager.until("steady", "suspended")
    assert start_time(pid) is None
    done = manager.http.get(f"/api/v1/jobs/steady/operations/{stop['id']}").json()
    assert (done["state"], done["by"]) == ("succeeded", "admin")
    assert job["runs"][-1]["ended"] == "stopped"


def test_a_driver_that_dies_is_started_again(manager: House) -> None:
    manager.submit("mortal")
    manager.until("mortal", "running")
    os.kill(manager.pid("mortal"), signal.SIGKILL)
    job = manager.until("mortal", "running", run=2)
    assert job["restarts"] == 1
    assert job["failures"][0]["code"] == "MS-MANAGER-010"
    assert "signal 9" in job["failures"][0]["message"]
    assert len(manager.starts("mortal")) == 2


def test_one_that_dies_too_often_is_given_up(manager: House) -> None:
    manager.submit("doomed", "die", restarts="2/100ms")
    job = manager.until("doomed", "failed")
    assert len(manager.starts("doomed")) == 3
    assert len(job["failures"]) == 3


def test_an_error_of_the_job_ends_it_at_once(manager: House) -> None:
    manager.submit("wrong", "fail")
    job = manager.until("wrong", "failed")
    failure = job["failures"][0]
    assert (failure["code"], failure["place"], failure["hint"]) == ("MS-JOIN-002", "job.py:7", "id?")
    assert len(manager.starts("wrong")) == 1


def test_one_whose_input_ends_is_finished_and_can_be_started_again(manager: House) -> None:
    manager.submit("brief", "finish")
    manager.until("brief", "finished")
    assert manager.http.post("/api/v1/jobs/brief/start").status_code == 202
    manager.until("brief", "finished", run=2)


def test_cancel_kills_at_once(manager: House) -> None:
    manager.submit("deaf", "deaf")
    manager.until("deaf", "running")
    pid = manager.pid("deaf")
    assert manager.http.post("/api/v1/jobs/deaf/cancel").status_code == 202
    until(lambda: start_time(pid) is None)
    until(lambda: manager.job("deaf")["operations"][-1]["state"] == "succeeded")
    assert manager.job("deaf")["state"] == "cancelled"


def test_one_that_hangs_is_killed_and_started_again(tmp_path: Path) -> None:
    """Its process is there, and stands still."""
    with house(tmp_path, beat_within=3.0) as manager:
        manager.submit("hangs", "silent")
        until(lambda: len(manager.starts("hangs")) >= 2)
        assert manager.job("hangs")["failures"][0]["code"] == "MS-MANAGER-011"
        first = int(manager.starts("hangs")[0].split()[2])
        until(lambda: start_time(first) is None)
        manager.http.post("/api/v1/jobs/hangs/cancel")
        manager.bury()


def test_an_epoch_that_does_not_end_is_told_from_a_slow_one(manager: House) -> None:
    manager.submit("slow", "stuck", hung_after_s=600)
    manager.submit("stuck", "stuck", hung_after_s=2)
    until(lambda: manager.job("stuck")["failures"])
    assert "epoch has lasted longer than 2 s" in manager.job("stuck")["failures"][0]["message"]
    assert manager.job("slow")["failures"] == []


def test_jobs_outlive_their_manager_and_are_found_again(tmp_path: Path) -> None:
    with house(tmp_path) as first:
        first.submit("lasting")
        first.until("lasting", "running")
        pid = first.pid("lasting")
    assert start_time(pid) is not None
    with house(tmp_path) as second:
        assert second.until("lasting", "running")["run"]["number"] == 1
        assert second.pid("lasting") == pid
        os.kill(pid, signal.SIGKILL)
        second.until("lasting", "running", run=2)
        second.bury()


def test_a_run_has_one_process_whoever_starts_it(manager: House) -> None:
    manager.submit("once")
    manager.until("once", "running")
    folder = manager.service.home.run("once", 1).path
    late = subprocess.run([*DRIVER, str(folder)], cwd=manager.folder)
    assert late.returncode == 75
    assert len(manager.starts("once")) == 1


def test_a_job_that_runs_cannot_be_submitted_again(manager: House) -> None:
    manager.submit("twice")
    manager.until("twice", "running")
    answer = manager.send({"job.py": (Path(__file__).parent / "twice.txt").read_text()})
    assert (answer.status_code, answer.json()["code"]) == (409, "MS-MANAGER-009")
    manager.http.post("/api/v1/jobs/twice/stop")
    manager.until("twice", "suspended")
    assert manager.submit("twice")["version"] == 2
    manager.until("twice", "running", run=2)


def test_what_cannot_be_done_is_said(manager: House) -> None:
    manager.submit("still", "finish")
    manager.until("still", "finished")
    answer = manager.http.post("/api/v1/jobs/still/stop")
    assert (answer.status_code, answer.json()["code"]) == (409, "MS-MANAGER-012")
    answer = manager.http.get("/api/v1/jobs/stil")
    assert (answer.status_code, answer.json()["hint"]) == (404, "did you mean still?")
