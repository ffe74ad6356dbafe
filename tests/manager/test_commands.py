"""The commands that speak to a manager, as users type them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millstream.cli.main import main
from tests.manager.browsing import listening
from tests.manager.house import JOB, House, until

Say = Callable[..., Result]


@pytest.fixture
def say(manager: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[Say]:
    with listening(manager.service) as url:
        monkeypatch.setenv("MILLSTREAM_MANAGER", url)
        monkeypatch.setenv("MILLSTREAM_HOME", str(manager.service.home.path))
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.chdir(manager.folder)
        yield lambda *words: CliRunner().invoke(main, words)


def written(folder: Path, name: str) -> str:
    (folder / "job.py").write_text(JOB.format(name=name))
    return "job.py"


def test_from_submit_to_forget(say: Say, manager: House) -> None:
    (manager.folder / "env").write_text("API_KEY=hunter2\n")
    file = written(manager.folder, "typed")
    done = say("submit", file, "--parallelism", "3", "--restarts", "3/1s", "--env-file", "env", "--conf", "fake=run")
    assert done.output == "typed: submitted, version 1\ntyped: run 1 is running\n"
    spec = manager.job("typed")["spec"]
    assert (spec["parallelism"], spec["restarts"], spec["folder"]) == (3, "3/1s", str(manager.folder))
    until(lambda: manager.http.get("/api/v1/jobs/typed/status").json()["rate_in"] is not None)
    listed = say("list").output.splitlines()
    assert re.fullmatch(r"job +state +behind +in/s +out/s +epoch +state size +restarts", listed[0])
    assert re.fullmatch(r"typed +running +.* +48\.0 MB +0", listed[1])
    assert "run 1 is running" in say("status", "typed").output
    assert say("logs", "typed").output == "running\n"
    assert re.search(r"source +likes +[\d,]+ ", say("metrics", "typed").output)
    assert "millstream_manager_jobs" in say("metrics").output
    assert "leads" in say("managers").output
    assert say("stop", "typed").output == "typed: run 1 stopped\n"
    assert say("start", "typed").output == "typed: run 2 is running\n"
    assert say("cancel", "typed").output == "typed: run 2 has ended\n"
    assert say("forget", "typed", "--yes").output == "typed: forgotten\n"
    assert say("list").output == "no jobs yet: millstream submit job.py\n"


def test_state_and_code_are_changed_by_name(say: Say, manager: House) -> None:
    file = written(manager.folder, "typed")
    say("submit", file, "--conf", "fake=run")
    assert say("savepoint", "typed", "/saved/a").output == "typed: epoch 7 is saved in /saved/a\n"
    assert say("rescale", "typed", "--to", "3").output == "typed: parallelism is 3, after epoch 7\n"
    shown = say("diff", "typed", file)
    assert re.search(r"operator +counted +kept", shown.output)
    assert json.loads(say("diff", "typed", file, "--json").output)["compatible"] is True
    assert say("upgrade", "typed", file).output.startswith("typed: version 4 has committed epoch ")
    assert say("stop", "typed", "--savepoint", "/saved/b").output == "typed: epoch 7 is saved in /saved/b\n"
    assert say("restore", "typed", "/saved/b").output == "typed: goes on after epoch 7\n"
    assert say("stop", "typed", "--savepoint").output.startswith("typed: epoch 7 is saved in /saved/")
    wrong = say("restore", "typed", "/saved/b", "--was", "counted")
    assert (wrong.exit_code, "write it as NEW=OLD" in wrong.output) == (2, True)
    assert "MS-MANAGER-012" in say("stop", "typed", "--savepoint").output
    (manager.folder / "other.py").write_text(JOB.format(name="other"))
    assert "MS-MANAGER-015" in say("upgrade", "typed", "other.py").output
    assert "MS-CLI-002" in say("upgrade", "typed", "nothing.py").output


def test_the_last_certificate_is_shown_with_the_job(manager: House) -> None:
    text = JOB.format(name="proven")
    manager.submit("proven")
    assert manager.http.get("/api/v1/jobs/proven/certificate").status_code == 404
    sent = {
        "mode": "micro-batch",
        "faults": 60,
        "points": 40,
        "lost": 0,
        "duplicated": 0,
        "good": True,
        "text": "sink …",
    }
    for content, current in ((text, True), (text + "# other", False)):
        told = {**sent, "sha256": hashlib.sha256(content.encode()).hexdigest()}
        assert manager.http.put("/api/v1/jobs/proven/certificate", json=told).json()["current"] is current
        shown = "nothing lost, nothing twice" if current else "of another version"
        assert shown in manager.http.get("/jobs/proven/proof").text
    assert manager.http.put("/api/v1/jobs/proven/certificate", json={**sent, "sha256": "x"}).status_code == 422


def test_for_scripts(say: Say, manager: House) -> None:
    done = say("submit", written(manager.folder, "scripted"), "--json", "--conf", "fake=finish", "--no-wait")
    assert json.loads(done.output)["kind"] == "submit"
    manager.until("scripted", "finished")
    assert json.loads(say("list", "--json").output)[0]["state"] == "finished"
    assert json.loads(say("status", "scripted", "--json").output)["status"]["health"] == "at rest"
    assert json.loads(say("metrics", "scripted", "--json").output)["metrics"]["job"] == "scripted"
    assert len(json.loads(say("managers", "--json").output)) == 1


def test_what_is_wrong_is_said_as_by_run(say: Say, manager: House, monkeypatch: pytest.MonkeyPatch) -> None:
    (manager.folder / "job.py").write_text("1 / 0\n")
    done = say("submit", "job.py")
    assert done.exit_code == 1
    assert "MS-CLI-003: job.py stopped with a Python error." in done.output
    assert 'File "job.py", line 1' in done.output
    assert "MS-CLI-002" in say("submit", "nothing.py").output
    assert "did you mean" not in say("status", "nothing").output
    failed = say("submit", written(manager.folder, "failing"), "--conf", "fake=fail")
    assert "MS-MANAGER-013: submit of failing failed: MS-JOIN-002: no such column." in failed.output
    shown = say("status", "failing").output
    assert "at:    job.py:7" in shown
    assert "hint:  id?" in shown
    assert "MS-MANAGER-401" in say("list", "--token", "ms_wrong").output
    monkeypatch.setenv("MILLSTREAM_MANAGER", "http://127.0.0.1:1")
    assert "MS-MANAGER-030: no manager answers at http://127.0.0.1:1." in say("list").output
