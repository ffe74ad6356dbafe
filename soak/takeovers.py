"""`./dev soak --managers`: the leading manager fails, again and again, while a job counts every row once."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from millstream import journal
from millstream.manager.bundle import pack
from millstream.manager.process import start_time
from servers import zookeeper_ensemble
from soak.managers import PATIENCE, Manager, Managers, running

DRIVER = (sys.executable, "-m", "millstream.manager.driver")
KINDS = ("killed", "stopped, then woken", "cut off from ZooKeeper", "driver killed, too")
JOB = """\
import millstream as ms
from millstream import journal

job = ms.Job("soak")
orders = job.stream(journal.source("orders"), schema="id BIGINT")
orders.to(journal.sink("every"))
"""


@dataclass(frozen=True)
class Takeover:
    kind: str
    seconds: float


@dataclass(frozen=True)
class Outcome:
    takeovers: list[Takeover]
    lost: int
    duplicated: int
    twice: int
    """Runs that were started by more than one process."""

    @property
    def well(self) -> bool:
        return not (self.lost or self.duplicated or self.twice)

    def last_line(self) -> str:
        times = [each.seconds for each in self.takeovers]
        told = f"takeover median {median(times):.1f} s, longest {max(times):.1f} s"
        return f"{len(times)} faults, {told}, lost {self.lost}, duplicated {self.duplicated}"


class Load:
    """Appends orders from a thread until it is stopped."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self.sent = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def _send(self) -> None:
        with journal.producer(self._path, "orders", durable=False) as orders:
            while not self._ended.wait(0.1):
                for _ in range(20):
                    orders.send({"id": self.sent})
                    self.sent += 1
                orders.flush()

    def end(self) -> int:
        self._ended.set()
        self._thread.join()
        return self.sent


def soak(faults: int, seed: int, tell: Callable[[str], None]) -> Outcome:
    chosen = random.Random(seed)
    kinds = [KINDS[n % len(KINDS)] for n in range(faults)]
    chosen.shuffle(kinds)
    with team() as (managers, work):
        begin(managers, work)
        load = Load(work / "journal")
        takeovers = []
        for kind in kinds:
            takeovers.append(Takeover(kind, fail(managers, kind, chosen)))
            tell(f"{kind}: another one led after {takeovers[-1].seconds:.1f} s")
        sent = load.end()
        found = written(managers, work, sent)
        twice = started_twice(managers.home)
    wanted = Counter(range(sent))
    return Outcome(takeovers, sum((wanted - found).values()), sum((found - wanted).values()), twice)


@contextmanager
def team() -> Iterator[tuple[Managers, Path]]:
    with tempfile.TemporaryDirectory(prefix="millstream-managers-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        work = folder / "work"
        work.mkdir()
        with zookeeper_ensemble.running() as nodes:
            try:
                with running(folder, nodes, DRIVER) as managers:
                    yield managers, work
            finally:
                for claim in claims(folder / "home"):
                    if start_time(claim["pid"]) == claim["started"]:
                        os.killpg(claim["pid"], signal.SIGKILL)


def begin(managers: Managers, work: Path) -> None:
    for topic in ("orders", "every"):
        journal.create(str(work / "journal"), topic)
    (work / "job.py").write_text(JOB)
    conf = {"spark.driver.memory": "600m", "spark.sql.shuffle.partitions": "1", "spark.ui.enabled": "false"}
    spec = {"folder": str(work), "mode": "micro-batch", "every": "500ms", "master": "local[2]", "conf": conf}
    leader, _ = managers.await_leader()
    fields = {"file": "job.py", "spec": json.dumps(spec)}
    managers.client(leader).upload("/api/v1/jobs", pack(work / "job.py"), fields)
    runs(managers, 1)


def runs(managers: Managers, run: int) -> None:
    """Waits until the job does, in this run or a later one."""
    end = time.monotonic() + 4 * PATIENCE
    while time.monotonic() < end:
        job = job_of(managers)
        if job and job["state"] == "running" and job["run"]["number"] >= run:
            return
        time.sleep(0.2)
    raise RuntimeError(f"the job does not run: {job_of(managers)}")


def job_of(managers: Managers) -> dict[str, Any] | None:
    leader = managers.leader([each for each in managers.all if not each.stopped])
    if leader is None or leader.stopped:
        return None
    found: dict[str, Any] = managers.client(leader).get("/api/v1/jobs/soak")
    return found


def fail(managers: Managers, kind: str, chosen: random.Random) -> float:
    """Breaks the leader; how long until another one leads."""
    old, _ = managers.await_leader()
    before = job_of(managers)
    strike(old, kind)
    if kind == "driver killed, too":
        os.kill(claims(managers.home)[-1]["pid"], signal.SIGKILL)
    _, seconds = managers.await_leader(other_than=old)
    time.sleep(chosen.random())
    restore(old, kind)
    if kind == "driver killed, too" and before is not None:
        runs(managers, before["run"]["number"] + 1)
    return seconds


def strike(old: Manager, kind: str) -> None:
    if kind.startswith("stopped"):
        old.pause()
    elif kind.startswith("cut off"):
        old.cut_off()
    else:
        old.kill()


def restore(old: Manager, kind: str) -> None:
    if kind.startswith("stopped"):
        old.wake()
    elif kind.startswith("cut off"):
        old.mend()
    else:
        old.start()
    old.wait()


def claims(home: Path) -> list[dict[str, Any]]:
    """Of all runs that a process has claimed, the last one last."""
    folders = sorted(home.glob("jobs/*/runs/*"), key=lambda folder: int(folder.name))
    read = [json.loads((each / "claim.json").read_text()) for each in folders if (each / "claim.json").exists()]
    return [claim for claim in read if "pid" in claim]


def started_twice(home: Path) -> int:
    pids = Counter((claim["pid"], claim["started"]) for claim in claims(home))
    return sum(count - 1 for count in pids.values())


def written(managers: Managers, work: Path, sent: int) -> Counter[int]:
    """What the job has written when it has caught up and was stopped."""
    path, end = str(work / "journal"), time.monotonic() + 2 * PATIENCE
    while time.monotonic() < end and sum(1 for _ in journal.read(path, "every")) < sent:
        time.sleep(1)
    leader, _ = managers.await_leader()
    managers.client(leader).post("/api/v1/jobs/soak/stop")
    while time.monotonic() < end + PATIENCE and (job_of(managers) or {}).get("state") != "suspended":
        time.sleep(0.2)
    return Counter(int(json.loads(record.value or b"")["id"]) for record in journal.read(path, "every"))
