"""Who comes in, and what may come in."""

from __future__ import annotations

import io
import json
import re
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from millstream.errors import MillstreamError
from millstream.manager.app import served
from millstream.manager.client import Client
from millstream.manager.guard import COOKIE
from millstream.manager.server import refuse_unsafe
from millstream.manager.service import Options
from millstream.manager.tokens import Role
from servers.certificate import certificate
from servers.process import free_port
from tests.manager.house import JOB, House, until


def bearer(manager: House, role: Role) -> TestClient:
    token = manager.service.tokens.add(role.name.lower(), role)
    return TestClient(served(manager.service), headers={"Authorization": f"Bearer {token}"})


def test_nothing_is_answered_without_a_token(manager: House) -> None:
    paths = manager.http.get("/api/v1/openapi.json").json()["paths"]
    asked = 0
    for path, methods in paths.items():
        for method in methods:
            address = re.sub(r"\{\w+\}", "x", path)
            for client in (manager.anybody, TestClient(manager.anybody.app, headers={"Authorization": "Bearer ms_no"})):
                assert client.request(method, address).status_code == 401, (method, path)
                asked += 1
    assert asked >= 30
    assert manager.anybody.get("/metrics").status_code == 401
    assert manager.anybody.get("/health").json() == {"status": "up"}


def test_roles(manager: House) -> None:
    manager.submit("guarded")
    reader, operator = bearer(manager, Role.READ), bearer(manager, Role.OPERATE)
    assert reader.get("/api/v1/jobs").status_code == 200
    assert reader.post("/api/v1/jobs/guarded/stop").status_code == 403
    manager.until("guarded", "running")
    assert operator.post("/api/v1/jobs/guarded/stop").status_code == 202
    manager.until("guarded", "suspended")
    assert operator.delete("/api/v1/jobs/guarded").status_code == 403
    assert manager.http.delete("/api/v1/jobs/guarded").status_code == 204
    assert manager.http.get("/api/v1/jobs/guarded").status_code == 404


def test_a_token_that_is_removed_lets_nobody_in(manager: House) -> None:
    reader = bearer(manager, Role.READ)
    manager.service.tokens.remove("read")
    assert reader.get("/api/v1/jobs").status_code == 401


def test_secrets_are_for_their_owner(manager: House) -> None:
    home = manager.service.home
    for file in (home.token, home.tokens, home.secret, home.records):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert home.token.read_text().strip() not in home.tokens.read_text()


def test_a_jobs_secrets_are_never_shown(manager: House) -> None:
    conf = {"fake": "finish", "spark.my.password": "hunter2"}
    answer = manager.send({"job.py": JOB.format(name="secretive")}, env="API_KEY=hunter2\n", conf=conf)
    assert answer.status_code == 201
    manager.until("secretive", "finished")
    paths = manager.http.get("/api/v1/openapi.json").json()["paths"]
    pages = [path.replace("{name}", "secretive") for path in paths if "follow" not in path and "{id}" not in path]
    told = [manager.http.get(page).text for page in pages if page != "/api/v1/events"]
    assert not [text for text in (*told, answer.text, manager.http.get("/metrics").text) if "hunter2" in text]
    env = manager.service.home.version("secretive", 1) / "env"
    assert stat.S_IMODE(env.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["../../evil.py", "/tmp/evil.py", "a/../../evil.py"])
def test_nothing_is_unpacked_elsewhere(manager: House, name: str) -> None:
    answer = manager.send({"job.py": JOB.format(name="evil"), name: "print('evil')"})
    assert (answer.status_code, answer.json()["code"]) == (422, "MS-MANAGER-003")
    assert not list(manager.service.home.path.rglob("evil.py"))
    assert not list((manager.service.home.path / "received").iterdir())


def test_links_and_files_that_are_not_there_are_refused(manager: House) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        link = tarfile.TarInfo("job.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    answer = manager.http.post("/api/v1/jobs", files={"archive": packed.getvalue()}, data={"file": "job.py"})
    assert answer.status_code == 422
    for file in ("../../../token", "/etc/passwd", "no.py", "."):
        assert manager.send({"job.py": JOB.format(name="x")}, file=file).status_code == 422


def test_uploads_are_bounded(manager: House) -> None:
    answer = manager.http.post("/api/v1/jobs", content=b"x" * 22_000_000)
    assert (answer.status_code, answer.json()["code"]) == (413, "MS-MANAGER-413")
    bomb = io.BytesIO()
    with tarfile.open(fileobj=bomb, mode="w:gz") as tar:
        large = tarfile.TarInfo("job.py")
        large.size = 50_000_000
        tar.addfile(large, io.BytesIO(bytes(large.size)))
    answer = manager.http.post("/api/v1/jobs", files={"archive": bomb.getvalue()}, data={"file": "job.py"})
    assert (answer.status_code, answer.json()["code"]) == (413, "MS-MANAGER-005")


def test_a_form_of_another_site_does_nothing(manager: House) -> None:
    manager.submit("formal")
    manager.until("formal", "running")
    tokens = manager.service.tokens
    who = tokens.of(manager.service.home.token.read_text().strip())
    assert who is not None
    cookie = tokens.session(who)
    browser = TestClient(served(manager.service), cookies={COOKIE: cookie})
    assert browser.get("/api/v1/jobs").status_code == 200
    assert browser.post("/api/v1/jobs/formal/stop").status_code == 403
    assert browser.post("/api/v1/jobs/formal/stop", data={"csrf": "0" * 64}).status_code == 403
    own = {"x-csrf-token": tokens.csrf(cookie)}
    assert browser.post("/api/v1/jobs/formal/stop", headers=own).status_code == 202
    forged = cookie.split(".")[0] + "." + "0" * 64
    assert TestClient(served(manager.service), cookies={COOKIE: forged}).get("/api/v1/jobs").status_code == 401


@pytest.mark.parametrize(
    "options",
    [
        Options(Path("x"), host="0.0.0.0"),
        Options(Path("x"), host="0.0.0.0", certificate=Path("c"), key=Path("k"), token=False),
        Options(Path("x"), certificate=Path("c")),
    ],
)
def test_it_does_not_listen_to_others_unprotected(options: Options) -> None:
    with pytest.raises(MillstreamError, match="MS-MANAGER-022"):
        refuse_unsafe(options)


def test_it_is_served_by_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the command itself, with a certificate that vouches for itself."""
    made, port, home = certificate(tmp_path), free_port(), tmp_path / "home"
    words = ["--home", str(home), "--port", str(port), "--tls-cert", str(made.file), "--tls-key", str(made.key)]
    with (tmp_path / "out").open("w") as out:
        start = [sys.executable, "-c", "from millstream.cli.main import main; main()", "manager", *words]
        process = subprocess.Popen(start, stdout=out, stderr=out)
    try:
        monkeypatch.setenv("MILLSTREAM_HOME", str(home))
        until(lambda: (home / "address").exists() and (home / "token").exists(), (tmp_path / "out").read_text())
        until(lambda: answers(made.file), "it answers")
        assert Client(certificate=str(made.file)).get("/api/v1/jobs")["total"] == 0
        with pytest.raises(MillstreamError) as refused:
            Client().get("/api/v1/jobs")
        assert "CERTIFICATE_VERIFY_FAILED" in str(refused.value.found)
    finally:
        process.terminate()
        process.wait(timeout=60)


def answers(trusted: Path) -> bool:
    try:
        return bool(Client(certificate=str(trusted)).get("/health"))
    except MillstreamError:
        return False


def test_what_people_do_is_written_down(manager: House) -> None:
    manager.submit("audited", "finish")
    manager.until("audited", "finished")
    manager.http.post("/api/v1/jobs/audited/stop")
    lines = [json.loads(line) for line in manager.service.home.audit.read_text().splitlines()]
    assert [(line["who"], line["what"], line["outcome"]) for line in lines] == [
        ("admin", "submit", "version 1"),
        ("admin", "stop", "refused"),
    ]


def test_every_path_is_behind_the_guard(manager: House) -> None:
    """The guard stands before the whole application: a route that is added later is behind it, too."""
    guard = manager.anybody.app
    guard._app._app.router.routes.append(Route("/later", lambda request: None))  # type: ignore[attr-defined]
    assert manager.anybody.get("/later").status_code == 401


def test_a_support_bundle_has_all_but_secrets(manager: House) -> None:
    conf = {"fake": "finish", "spark.my.password": "hunter2"}
    manager.send({"job.py": JOB.format(name="helped")}, env="API_KEY=hunter2\n", conf=conf)
    manager.until("helped", "finished")
    answer = manager.http.get("/api/v1/jobs/helped/support")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as found:
        assert {"helped/job.json", "helped/plan.json", "helped/epochs.json", "helped/run-1.log"} <= set(
            found.namelist()
        )
        assert not [name for name in found.namelist() if b"hunter2" in found.read(name)]
        assert found.read("helped/run-1.log") == b"running\n"
