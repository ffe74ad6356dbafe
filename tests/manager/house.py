"""A manager in this process, with drivers that are processes without Spark."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from millstream.manager.app import served
from millstream.manager.process import start_time
from millstream.manager.server import opened
from millstream.manager.service import Options, Service

ROOT = Path(__file__).parents[2]
DRIVER = (sys.executable, "-m", "tests.manager.fake_driver")
PATIENCE = 180
"""Seconds after which something will not happen any more: not a measure of speed."""
JOB = """\
import millstream as ms
from millstream import journal

job = ms.Job("{name}")
likes = job.stream(journal.source("likes"), schema="liker STRING, liked STRING")
likes.group_by("liker").agg(n="count(*)").named("counted").to(journal.sink("counts"))
"""


def archive(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in files.items():
            told = tarfile.TarInfo(name)
            told.size = len(text.encode())
            tar.addfile(told, io.BytesIO(text.encode()))
    return packed.getvalue()


def until(
    answer: Callable[[], Any], what: str = "", now: Callable[[], object] = lambda: "", patience: float = PATIENCE
) -> Any:
    """Waits until it is so; bounded, for a test that fails."""
    deadline = time.monotonic() + patience
    while not (found := answer()):
        assert time.monotonic() < deadline, f"it never happened: {what}; {now()}"
        time.sleep(0.05)
    return found


class House:
    """Speaks to the manager as an administrator's program does."""

    def __init__(self, service: Service, folder: Path) -> None:
        self.service = service
        self.folder = folder
        token = service.tokens.first() or service.home.token.read_text().strip()
        self.http = TestClient(served(service), headers={"Authorization": f"Bearer {token}"})
        self.anybody = TestClient(served(service))

    def submit(self, name: str, how: str = "run", **spec: Any) -> dict[str, Any]:
        answer = self.send({"job.py": JOB.format(name=name)}, conf={"fake": how}, **spec)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def send(self, files: dict[str, str], file: str = "job.py", env: str = "", **spec: Any) -> Any:
        told = {"folder": str(self.folder), "restarts": "5/100ms", **spec}
        fields = {"file": file, "spec": json.dumps(told), "env": env}
        return self.http.post("/api/v1/jobs", files={"archive": ("job.tar.gz", archive(files))}, data=fields)

    def job(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get(f"/api/v1/jobs/{name}").json()
        return found

    def until(self, name: str, state: str, run: int = 0) -> dict[str, Any]:
        def so() -> dict[str, Any] | None:
            found = self.job(name)
            return found if found["state"] == state and (found["run"] or {"number": 0})["number"] >= run else None

        found: dict[str, Any] = until(so, f"{name} {state}", lambda: self.job(name))
        return found

    def pid(self, name: str) -> int:
        claim = self.service.home.run(name, self.job(name)["run"]["number"]).claimed()
        assert claim is not None
        return int(claim["pid"])

    def starts(self, name: str) -> list[str]:
        file = self.folder / "starts"
        return [line for line in file.read_text().splitlines() if line.split()[0] == name] if file.exists() else []

    def bury(self) -> None:
        """Ends the drivers that a test leaves behind, each by its own number."""
        for claim in self.service.home.path.glob("jobs/*/runs/*/claim.json"):
            told = json.loads(claim.read_text())
            if "pid" in told and start_time(told["pid"]) == told["started"]:
                os.killpg(told["pid"], signal.SIGKILL)


@contextmanager
def house(folder: Path, beat_within: float = 30.0, **options: Any) -> Iterator[House]:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    os.environ["PYTHONPATH"] = str(ROOT)
    with opened(Options(folder / "home", driver=DRIVER, beat_within=beat_within, **options)) as service:
        yield House(service, work)
