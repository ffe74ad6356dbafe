"""What people do to jobs. Each is an operation in the job's record; the supervisor carries it out."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from millstream.errors import MillstreamError
from millstream.manager.bundle import requirements, unpack
from millstream.manager.documents import Changed
from millstream.manager.home import Home, private
from millstream.manager.inspection import inspected
from millstream.manager.operations import CANCELLED, begin
from millstream.manager.policy import policy
from millstream.manager.records import Asked, JobRecord, Operation, Spec, now_ms
from millstream.manager.registry import Registry
from millstream.manager.states import JobState
from millstream.reports.folder import replace as write


@dataclass(frozen=True)
class Submission:
    """What was sent: the archive with the job's files, which of them has the job, and how it is to run."""

    packed: bytes
    file: str
    spec: Spec
    env: str = ""
    by: str = "somebody"
    asked: Asked = field(default_factory=Asked)
    """With a savepoint, from which it begins."""


@dataclass(frozen=True)
class Code:
    """A job's files that were looked into: its name, where they lie for the moment, and what is to be said of the
    cluster when it starts."""

    name: str
    folder: Path
    note: str


@contextmanager
def received(home: Home, sent: Submission, env: str | None = None) -> Iterator[Code]:
    """What was sent, unpacked and looked into; it is thrown away at the end of the block, unless it was kept."""
    folder = home.path / "received" / secrets.token_hex(8)
    folder.mkdir(mode=0o700)
    try:
        unpack(sent.packed, folder)
        file = inside(folder, sent.file)
        if sent.env or env:
            private(folder / "env", sent.env or env or "")
        install(requirements(file), folder / "packages")
        told = inspected(file, sent.spec)
        write(folder / "plan.json", told)
        yield Code(str(told["name"]), folder, str(told["note"]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Actions:
    def __init__(self, registry: Registry, home: Home) -> None:
        self._registry = registry
        self._home = home

    def submit(self, sent: Submission) -> JobRecord:
        """Looked into first: of a file that is not a job, or of a job that runs, nothing is kept."""
        policy(sent.spec.restarts)
        with received(self._home, sent) as code:
            return self._keep(sent, code)

    def _keep(self, sent: Submission, code: Code) -> JobRecord:
        name = code.name
        known = self._registry.find(name)
        if known is not None:
            refuse_running(known)
        version = keep(code.folder, self._home.job(name) / "versions")
        operation, now = replace(new("submit", sent.by), note=code.note), now_ms()

        def begun(job: JobRecord) -> JobRecord:
            if sent.asked.savepoint is None:
                return job.begun(operation)
            return begin(job, replace(operation, asked=sent.asked), now)

        if known is None:
            job = begun(JobRecord(name, sent.spec, sent.file, version, sent.by, now, since=now))
            try:
                self._registry.add(job)
            except Changed:
                raise runs_already(name, JobState.STARTING) from None
            return job

        def change(job: JobRecord) -> JobRecord:
            refuse_running(job)
            return begun(replace(job, spec=sent.spec, file=sent.file, version=version))

        return self._registry.update(name, change)

    def start(self, name: str, by: str) -> Operation:
        """Again, from its last committed epoch."""

        def change(job: JobRecord, operation: Operation) -> JobRecord:
            refuse_running(job)
            return job.begun(operation)

        return self._do(name, "start", by, change)

    def stop(self, name: str, by: str) -> Operation:
        """Between two epochs. It can be started again from there."""

        def change(job: JobRecord, operation: Operation) -> JobRecord:
            if job.at_rest:
                raise at_rest(job, "stopped")
            refuse_busy(job)
            if job.state is JobState.STOPPING:
                return job.begun(operation)
            return job.moved(JobState.STOPPING, f"{by} stopped it", now_ms(), by).begun(operation)

        return self._do(name, "stop", by, change)

    def cancel(self, name: str, by: str) -> Operation:
        """At once, with whatever is under way. What is committed stays; it, too, can be started again."""

        def change(job: JobRecord, operation: Operation) -> JobRecord:
            idle = job.state is JobState.CANCELLED or (job.at_rest and JobState.CANCELLED not in legal(job))
            if idle and not job.under_way:
                raise at_rest(job, "cancelled")
            now, reason = now_ms(), f"{by} cancelled it"
            for each in job.under_way:
                job = job.noted(replace(each, step=CANCELLED, why=reason))
            job = job.settled(("submit", "start", "stop"), "failed", reason, now)
            if job.run is None or job.run.ended_at is not None:
                operation = replace(operation, state="succeeded", detail="no driver ran", ended_at=now)
            job = job if idle else job.moved(JobState.CANCELLED, reason, now, by)
            return job.begun(operation)

        return self._do(name, "cancel", by, change)

    def delete(self, name: str) -> None:
        """Its record, files and reports. Its checkpoint and what it has written stay."""
        job = self._registry.job(name)
        refuse_running(job)
        if job.under_way or (job.run is not None and job.run.ended_at is None):
            raise runs_already(name, JobState.STOPPING)
        self._registry.remove(name)
        shutil.rmtree(self._home.job(name), ignore_errors=True)

    def _do(self, name: str, kind: str, by: str, change: Callable[[JobRecord, Operation], JobRecord]) -> Operation:
        operation = new(kind, by)
        job = self._registry.update(name, lambda job: change(job, operation))
        return job.operation(operation.id) or operation


def legal(job: JobRecord) -> frozenset[JobState]:
    from millstream.manager.states import MOVES

    return MOVES[job.state]


def new(kind: str, by: str) -> Operation:
    return Operation(secrets.token_hex(6), kind, by, now_ms())


def inside(folder: Path, name: str) -> Path:
    """The file of that name in the folder, and nowhere else."""
    file = (folder / name).resolve()
    if folder.resolve() not in file.parents or not file.is_file():
        raise MillstreamError("MS-MANAGER-003", f"the archive has no file {name!r}.", hint="name the job's file")
    return file


def keep(received: Path, versions: Path) -> int:
    """Moves what was received to the next free number, in one step."""
    versions.mkdir(parents=True, exist_ok=True)
    while True:
        version = max((int(each.name) for each in versions.iterdir() if each.name.isdigit()), default=0) + 1
        try:
            os.rename(received, versions / str(version))
        except OSError:  # another process has just taken it
            if not received.exists():
                raise
            continue
        return version


def install(packages: list[str], folder: Path) -> None:
    """Into a folder of the job's own: one job's packages are not another's."""
    if not packages:
        return
    uv = shutil.which("uv")
    command = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    done = subprocess.run([*command, "--quiet", "--target", str(folder), *packages], capture_output=True, text=True)
    if done.returncode:
        raise MillstreamError(
            "MS-MANAGER-006",
            f"the packages that the job declares cannot be installed: {', '.join(packages)}.",
            found="\n".join(done.stderr.strip().splitlines()[-5:]),
        )


def refuse_running(job: JobRecord) -> None:
    refuse_busy(job)
    if not job.at_rest or job.wanted is not None:
        raise runs_already(job.name, job.state)


def refuse_busy(job: JobRecord) -> None:
    """One change at a time."""
    if job.changing is not None:
        raise MillstreamError(
            "MS-MANAGER-014",
            f'job "{job.name}": {job.changing.kind} is under way.',
            found=f"{job.changing.by} began it; operation {job.changing.id}, step {job.changing.step}",
            hint=f"wait for its end: millstream status {job.name}; millstream cancel {job.name} ends both",
        )


def runs_already(name: str, state: JobState) -> MillstreamError:
    return MillstreamError(
        "MS-MANAGER-009",
        f'a job "{name}" is there already, and it is {state}.',
        hint=f"millstream stop {name}, then submit it again: it goes on from its last committed epoch",
    )


def at_rest(job: JobRecord, what: str) -> MillstreamError:
    return MillstreamError(
        "MS-MANAGER-012",
        f'job "{job.name}" cannot be {what}: it is {job.state}.',
        found=job.moves[-1].reason if job.moves else None,
    )
