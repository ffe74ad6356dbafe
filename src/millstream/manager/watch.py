"""Looks at the drivers of runs and the tasks of operations: their processes, where they are on this machine, and their
heartbeats anywhere."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from millstream.manager.driver import TAKEN
from millstream.manager.hand_over import CLUSTER
from millstream.manager.home import Home, private, read_json
from millstream.manager.process import Process
from millstream.manager.records import JobRecord, Operation
from millstream.manager.supervision import Seen
from millstream.manager.surroundings import surroundings
from millstream.plan.cluster import SHOWS_ROWS
from millstream.reports.folder import RunFolder

CLAIM_WITHIN = 20.0
"""Seconds within which a driver that was started has claimed its run. One that comes later finds it taken."""
HAND_OVER = (sys.executable, "-m", "millstream.manager.hand_over")
"""Starts a driver on a cluster, and follows it."""
OWN_WITHIN = 120.0
"""The same of a driver that this manager started, and sees to be there: a machine may be busy."""


@dataclass
class Watched:
    """What this manager remembers of a run. By its own clock: those of two machines may differ."""

    folder: RunFolder
    since: float
    beats: int = -1
    beat_at: float = 0.0
    child: subprocess.Popen[bytes] | None = None


@dataclass
class Watch:
    home: Home
    command: tuple[str, ...]
    beat_within: float
    rows: bool = False
    """Whether drivers report a few of the rows that pass."""
    clock: Callable[[], float] = time.monotonic
    _watched: dict[Path, Watched] = field(default_factory=dict)

    def spawn(self, job: JobRecord) -> None:
        """Starts the driver of a job's current run."""
        assert job.run is not None
        files = self.home.version(job.name, job.run.version)
        command = HAND_OVER if job.spec.deploy_mode == CLUSTER else self.command
        told = {"file": str(files / job.file), **asdict(job.spec)}
        # Whoever runs the manager decides, not whoever submits a job.
        told["conf"] = {**told["conf"], SHOWS_ROWS: str(self.rows).lower()}
        self._start(self._driver(job), job, files, told, command)

    def spawn_task(self, job: JobRecord, operation: Operation) -> None:
        """Starts the process of an operation's step. What is left of one that died goes first."""
        if operation.task > 1:
            self._kill(self._at(self.home.task(job.name, operation.id, operation.task - 1)))
        version, told = orders(job, operation, self.home)
        self._start(self._task(job, operation), job, self.home.version(job.name, version), told, self.command)

    def _start(
        self, watched: Watched, job: JobRecord, files: Path, told: dict[str, Any], command: tuple[str, ...]
    ) -> None:
        """In a session of its own: it outlives this manager."""
        watched.folder.make()
        private(watched.folder.path / "run.json", json.dumps({"job": job.name, **told}))
        with watched.folder.log.open("ab") as log:
            watched.child = subprocess.Popen(
                [*command, str(watched.folder.path)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=job.spec.folder or None,
                env=surroundings(files),
                start_new_session=True,
            )

    def see(self, job: JobRecord) -> Seen:
        return self._seen(self._driver(job))

    def see_task(self, job: JobRecord, operation: Operation) -> Seen:
        return self._seen(self._task(job, operation))

    def _seen(self, watched: Watched) -> Seen:
        claim = watched.folder.claimed()
        if claim is None:
            return self._unclaimed(watched)
        process = Process.read(claim)
        if process is None:
            return Seen(alive=False, died="its driver did not come up")
        # First whether it lives, then what it said: what it says last, it says before it ends.
        alive, over = process.alive(), over_there(watched.folder)
        left = over or self._left(watched)
        ended, fresh = watched.folder.ended(), self._fresh(watched)
        if alive is None:
            alive = fresh and ended is None and over is None
        died = f"its driver died ({left})" if left else "its driver died"
        return Seen(alive, fresh, watched.folder.status(), ended, died)

    def _unclaimed(self, watched: Watched) -> Seen:
        """A run is given up by claiming it for nobody: if its driver comes after all, it finds that it is late."""
        left = self._left(watched)
        own = watched.child is not None and left is None
        waited = self.clock() - watched.since > (OWN_WITHIN if own else CLAIM_WITHIN)
        if watched.folder.said_of_cluster() is not None:
            # A cluster may let a job wait for as long as it likes; who has handed it over says that it does.
            waited = not self._fresh(watched) or watched.folder.ordered() == "cancel"
        if (left is not None or waited) and watched.folder.path.exists():
            watched.folder.claim({})
        elif waited:
            watched.folder.make()
        return Seen()

    def _left(self, watched: Watched) -> str | None:
        code = watched.child.poll() if watched.child else None
        if code is None:
            return None
        return f"signal {-code}" if code < 0 else "the run was taken" if code == TAKEN else f"exit code {code}"

    def _fresh(self, watched: Watched) -> bool:
        status = watched.folder.status() or watched.folder.said_of_cluster()
        beats = int(status["beats"]) if status else 0
        if beats != watched.beats:
            watched.beats, watched.beat_at = beats, self.clock()
        return self.clock() - watched.beat_at < self.beat_within

    def stop(self, job: JobRecord) -> None:
        folder = self._driver(job).folder
        if folder.ordered() is None:
            folder.order("stop")

    def kill(self, job: JobRecord) -> None:
        self._kill(self._driver(job))

    def kill_task(self, job: JobRecord, operation: Operation) -> None:
        self._kill(self._task(job, operation))

    def _kill(self, watched: Watched) -> None:
        """Here by a signal; on another machine, and if it can still hear, by an order."""
        folder = watched.folder
        claim = folder.claimed()
        process = Process.read(claim) if claim else None
        if process is not None and process.here:
            process.kill()
        elif folder.path.exists() and folder.ordered() != "cancel":
            folder.order("cancel")

    def forget(self, jobs: list[JobRecord]) -> None:
        """Of jobs that are gone, of runs and of tasks that have ended, nothing is remembered."""
        runs = {self.home.run(job.name, job.number).path for job in jobs}
        tasks = {self.home.task(job.name, one.id, one.task).path for job in jobs for one in job.under_way}
        for path in self._watched.keys() - runs - tasks:
            self._reap(self._watched.pop(path))

    def _driver(self, job: JobRecord) -> Watched:
        return self._at(self.home.run(job.name, job.number))

    def _task(self, job: JobRecord, operation: Operation) -> Watched:
        return self._at(self.home.task(job.name, operation.id, operation.task))

    def _at(self, folder: RunFolder) -> Watched:
        if folder.path not in self._watched:
            now = self.clock()
            self._watched[folder.path] = Watched(folder, now, beat_at=now)
        return self._watched[folder.path]

    def _reap(self, watched: Watched) -> None:
        if watched.child is not None:
            watched.child.poll()


def over_there(folder: RunFolder) -> str | None:
    """What a cluster says of a driver of its own that has ended."""
    said = folder.said_of_cluster()
    return None if said is None or said["over"] is None else f"{said['name'] or 'on the cluster'}: {said['over']}"


def orders(job: JobRecord, operation: Operation, home: Home) -> tuple[int, dict[str, Any]]:
    """Which version of the job's files a task has, and its orders."""
    asked, spec = operation.asked, job.spec
    version, file = job.version, job.file
    before = operation.before
    if operation.step in ("diff", "restore", "fence") and asked.version is not None and asked.file is not None:
        version, file = asked.version, asked.file
    if operation.step == "back" and before is not None:
        version, file, spec = before.version, before.file, replace(spec, parallelism=before.parallelism)
    elif operation.step == "restore" and asked.parallelism is not None:
        spec = replace(spec, parallelism=asked.parallelism)
    was = read_json(home.version(job.name, job.version) / "plan.json", {}).get("checkpoint")
    return version, {
        **asdict(spec),
        "task": operation.step,
        "operation": operation.id,
        "kind": operation.kind,
        "begun_at": operation.begun_at,
        "checkpoint_before": was,
        "asked": asdict(asked),
        "file": str(home.version(job.name, version) / file),
    }
