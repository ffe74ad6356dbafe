"""Flink's REST, as its tools ask for it; and Flink's own client."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench.nexmark.flink import Missing, install
from bench.nexmark.run import TOOLS
from millstream.manager.rest.flink import jid
from tests.manager.browsing import listening
from tests.manager.house import House, house, until


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("PYTHONPATH", "")
    with house(tmp_path, flink=True) as found:
        yield found
        found.bury()


def ask(manager: House, path: str) -> Any:
    answer = manager.http.get(f"/v1{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_what_boards_read(told: House) -> None:
    told.submit("steady")
    told.submit("wrong", "fail")
    told.until("steady", "running")
    told.until("wrong", "failed")
    assert ask(told, "/overview")["jobs-running"] == 1
    assert ask(told, "/overview")["jobs-failed"] == 1
    assert ask(told, "/config")["refresh-interval"] == 3000
    assert {one["status"] for one in ask(told, "/jobs")["jobs"]} == {"RUNNING", "FAILED"}
    job = ask(told, f"/jobs/{jid('steady')}")
    assert (job["name"], job["state"], len(job["vertices"])) == ("steady", "RUNNING", 3)
    assert job["plan"]["nodes"][1]["inputs"][0]["id"] == job["vertices"][0]["id"]
    assert ask(told, f"/jobs/{jid('steady')}/status") == {"status": "RUNNING"}
    failed = ask(told, f"/jobs/{jid('wrong')}/exceptions")
    assert failed["root-exception"] == "MS-JOIN-002: no such column."
    until(lambda: ask(told, f"/jobs/{jid('steady')}/checkpoints")["counts"]["completed"], "checkpoints are reported")
    found = ask(told, f"/jobs/{jid('steady')}/checkpoints")
    assert found["latest"]["completed"]["state_size"] == 2_000
    nobody = told.http.get(f"/v1/jobs/{'0' * 32}")
    assert (nobody.status_code, "MS-MANAGER-001" in nobody.json()["errors"][0]) == (404, True)
    assert told.anybody.get("/v1/jobs").status_code == 401


def test_it_is_there_only_if_the_manager_is_told_so(manager: House) -> None:
    assert manager.http.get("/v1/jobs").status_code == 404


@pytest.mark.long
def test_flinks_own_client(told: House, tmp_path: Path) -> None:
    try:
        jars = install(TOOLS)
    except Missing as missing:
        pytest.skip(str(missing))
    told.submit("steady")
    told.until("steady", "running")
    with listening(told.service) as url:

        def flink(*words: str) -> str:
            token = told.service.home.token.read_text().strip()
            return client(jars, tmp_path, url, token, *words)

        id = jid("steady")
        assert re.search(rf"{id} : steady \(RUNNING\)", flink("list"))
        saved = flink("savepoint", id, "/saved")
        assert re.search(r"Savepoint completed. Path: /saved/savepoint-steady-\w+", saved), saved
        assert "Savepoint completed. Path: /saved/" in flink("stop", "--savepointPath", "/saved", id)
        assert told.until("steady", "suspended")["savepoints"][-1]["path"].startswith("/saved/")
        assert "MS-MANAGER-012" in flink("stop", id)
        told.http.post("/api/v1/jobs/steady/start")
        told.until("steady", "running", run=2)
        assert f"Cancelled job {id}" in flink("cancel", id)
        told.until("steady", "cancelled")
        assert "steady (CANCELED)" in flink("list", "--all")
        assert "MS-MANAGER-401" in client(jars, tmp_path, url, "ms_wrong", "list")


def client(jars: Path, folder: Path, url: str, token: str, *words: str) -> str:
    """What `flink` prints: the class that the script of that name starts."""
    (folder / "conf").mkdir(exist_ok=True)
    (folder / "conf" / "config.yaml").write_text("rest.address: 127.0.0.1\n")
    host = url.removeprefix("http://")
    command, *rest = words
    env = {**os.environ, "FLINK_CONF_DIR": str(folder / "conf"), "FLINK_LIB_DIR": str(jars)}
    env |= {"FLINK_REST_CLIENT_HEADERS": f"Authorization:Bearer {token}"}
    opened = [f"--add-opens=java.base/java.{part}=ALL-UNNAMED" for part in ("lang", "net", "util")]
    start = ["java", "-Xmx256m", *opened, "-cp", f"{jars}/*", "org.apache.flink.client.cli.CliFrontend"]
    done = subprocess.run([*start, command, "-m", host, *rest], env=env, capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr
