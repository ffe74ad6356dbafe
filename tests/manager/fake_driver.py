"""A driver without Spark, which really is a process and reports as one: `python -m tests.manager.fake_driver FOLDER`.

What it does, the job's setting `fake` says: `run`, `finish`, `fail`, `die`, `silent` (no heartbeat), `stuck` (an epoch
that does not end) or `deaf` (does not stop). It notes each start in `starts`, in its working folder. Of a job whose
file has the word BROKEN or STUCK it fails, or commits nothing, as a wrong new version would.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millstream.manager.process import boot_id, start_time
from millstream.metrics.model import (
    EpochMetrics,
    Metrics,
    OperatorMetrics,
    SinkMetrics,
    SourceMetrics,
    StageMetrics,
)
from millstream.plan.cluster import SHOWS_ROWS
from millstream.reports.folder import RunFolder, replace
from millstream.reports.reporter import Reporter

PHASES = {"offsets": 5, "plan": 10, "log": 15, "rows": 150, "commit": 20}


class FakeRun:
    """An epoch every tenth of a second."""

    def __init__(self, job: str, stuck: bool) -> None:
        self.job = job
        self.begun = time.time()
        self.stuck = stuck

    @property
    def last(self) -> int:
        return 0 if self.stuck else int((time.time() - self.begun) * 10)

    @property
    def busy(self) -> bool:
        return True

    def epoch(self, number: int) -> EpochMetrics:
        started = datetime.fromtimestamp(self.begun + number / 10, UTC)
        return EpochMetrics(number, started, 100, sum(PHASES.values()), PHASES)

    def epochs(self, after: int) -> list[EpochMetrics]:
        return [self.epoch(number) for number in range(max(after + 1, self.last - 100), self.last + 1)]

    def checkpoints(self) -> list[dict[str, object]]:
        told = {"mode": "micro-batch", "run": "r", "duration_ms": 200, "tasks": [], "bytes": 2_000, "retained": True}
        at = round(time.time() * 1000)
        return [
            {"epoch": number, "at": at, "phases_ms": PHASES, **told}
            for number in range(max(0, self.last - 99), self.last + 1)
        ]

    def rows(self) -> dict[str, Any]:
        lines = ['{"liker": "ann", "n": 7}', '{"liker": "<b>", "n": null}', '["long…']
        return {"operator:counted": [{"at": 1_800_000_000_000 + n, "weight": 1 - n, "row": lines[n]} for n in range(3)]}

    def metrics(self) -> Metrics:
        return Metrics(
            job=self.job,
            state="running",
            at=datetime.now(UTC),
            epochs=self.last,
            last_epoch=self.epoch(self.last),
            sources=(SourceMetrics("likes", rows=self.last * 100, lag=7),),
            operators=(OperatorMetrics("counted", 1, self.last * 100, self.last * 10, seconds=self.last / 25),),
            stages=(StageMetrics(1, ("counted",), state_bytes=48_000_000),),
            sinks=(SinkMetrics("counts", rows=self.last * 10, prepared=self.last, published=self.last),),
        )


def main(path: str) -> None:
    folder = RunFolder(Path(path))
    pid = os.getpid()
    if not folder.claim({"pid": pid, "started": start_time(pid), "host": socket.gethostname(), "boot": boot_id()}):
        sys.exit(75)
    told = json.loads((folder.path / "run.json").read_text())
    if "task" in told:
        perform(folder, told)
        return
    with Path("starts").open("a") as starts:
        starts.write(f"{told['job']} {folder.path.name} {pid}\n")
    replace(folder.plan, {"job": told["job"]})
    text = Path(told["file"]).read_text()
    how = "fail" if "BROKEN" in text else "stuck" if "STUCK" in text else told["conf"].get("fake", "run")
    behave(told["job"], how, Reporter(folder, told["conf"][SHOWS_ROWS] == "true"))


def perform(folder: RunFolder, told: dict[str, Any]) -> None:
    """A task. What the job's settings `fake.TASK` say: `fail`, `die` (at the first try), `wait` (until there is a file
    `go`), or nothing, and all goes well. It is noted in `tasks`, in its working folder."""
    reporter, task = Reporter(folder), told["task"]
    reporter.start()
    how = told["conf"].get(f"fake.{task}", "")
    version = Path(told["file"]).parent.name
    with Path("tasks").open("a") as tasks:
        tasks.write(f"{told['job']} {task} {folder.path.name} {version} {told['parallelism']} {os.getpid()}\n")
    if how == "die" and folder.path.name == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    while how == "wait" and not Path("go").exists():
        time.sleep(0.05)
    if how == "fail":
        error = {"code": "MS-SAVEPOINT-014", "message": "could not be saved.", "at": None, "found": "no room"}
        reporter.end({"state": "failed", "error": error})
        return
    saved = {"epoch": 7, "parallelism": 2, "rows": 1_200, "bytes": 48_000, "duration_ms": 900}
    changes = [{"what": "operator", "name": "counted", "was": None, "state": how or "kept", "why": None}]
    results: dict[str, dict[str, Any]] = {
        "savepoint": {"path": told["asked"]["savepoint"] or f"/saved/{told['operation']}", **saved},
        "restore": {"checkpoint": "/c2", "epoch": 7, "changes": changes},
        "diff": {"compatible": how != "incompatible", "changes": changes},
    }
    reporter.end({"state": "succeeded", "result": results.get(task, {})})


def behave(job: str, how: str, reporter: Reporter) -> None:
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set() if how != "deaf" else None)
    reporter.start()
    if how == "fail":
        error = {
            "code": "MS-JOIN-002",
            "message": "no such column.",
            "at": "job.py:7",
            "found": "columns: id",
            "hint": "id?",
        }
        reporter.end({"state": "failed", "error": {**error, "transient": False}})
        return
    reporter.follow(FakeRun(job, how == "stuck"))
    print("running", flush=True)
    if how == "die":
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "silent":
        os.kill(os.getpid(), signal.SIGSTOP)
    end = time.monotonic() + (1.5 if how == "finish" else 600)
    while not stopped.wait(0.1) and time.monotonic() < end:
        reporter.look()
    reporter.close()
    reporter.end({"state": "stopped" if stopped.is_set() else "finished"})


if __name__ == "__main__":
    main(sys.argv[1])
