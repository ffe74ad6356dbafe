"""What people do to a job's state and code: savepoint, stop with one, restore, rescale, diff, upgrade.

Each is an operation that goes step by step (`operations.py`), and is refused at once where that is possible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from millstream.errors import MillstreamError
from millstream.manager.actions import Submission, at_rest, keep, new, received, refuse_busy, refuse_running
from millstream.manager.home import Home, read_json
from millstream.manager.inspection import inspected
from millstream.manager.operations import begin
from millstream.manager.records import Asked, Before, JobRecord, Operation, now_ms
from millstream.manager.registry import Registry
from millstream.manager.states import JobState

Check = Callable[[JobRecord], None]
MOST_PARALLEL = 10_000


class Changes:
    def __init__(self, registry: Registry, home: Home) -> None:
        self._registry = registry
        self._home = home

    def savepoint(self, name: str, by: str, asked: Asked) -> Operation:
        """Of the last committed epoch. The job goes on."""
        return self._begin(name, "savepoint", by, asked, refuse_busy)

    def stop(self, name: str, by: str, asked: Asked) -> Operation:
        """With a savepoint: it is of the last epoch that the job has committed, and counts from then on."""

        def check(job: JobRecord) -> None:
            refuse_busy(job)
            if job.at_rest:
                raise at_rest(job, "stopped")

        return self._begin(name, "stop", by, asked, check, keeps=True)

    def restore(self, name: str, by: str, asked: Asked) -> Operation:
        """From a savepoint, into a new checkpoint. The job does not run, and is started then."""
        if not asked.savepoint:
            raise MillstreamError("MS-MANAGER-422", "restore needs the path of a savepoint.")
        return self._begin(name, "restore", by, asked, refuse_running)

    def rescale(self, name: str, by: str, asked: Asked) -> Operation:
        """Stops, saves, restores in as many parts, goes on. Too many for where it runs are refused before it stops."""
        if asked.parallelism is None or not 1 <= asked.parallelism <= MOST_PARALLEL:
            raise MillstreamError(
                "MS-PLAN-008", f"a job cannot run with parallelism {asked.parallelism}.", hint="1 or more"
            )
        return self._begin(name, "rescale", by, asked, refuse_busy, keeps=True, note=self._room(name, asked))

    def _room(self, name: str, asked: Asked) -> str:
        """What is to be said of the slots where the job runs; an error if they are too few."""
        job = self._registry.job(name)
        if job.spec.master is None:
            return ""
        file = self._home.version(name, job.version) / job.file
        return str(inspected(file, replace(job.spec, parallelism=asked.parallelism))["note"])

    def diff(self, name: str, sent: Submission) -> Operation:
        """What would become of the job's state. The files stay, so that an upgrade can use them: `asked.version`."""
        asked = self._received(name, sent)
        return self._begin(name, "diff", sent.by, asked, refuse_busy)

    def upgrade(self, name: str, sent: Submission) -> Operation:
        """To new files, or to a version that a diff has brought."""
        asked = self._received(name, sent) if sent.asked.version is None else self._brought(name, sent.asked)
        note = read_json(self._home.version(name, asked.version or 0) / "plan.json", {}).get("note", "")
        return self._begin(name, "upgrade", sent.by, asked, refuse_busy, keeps=True, note=note)

    def _brought(self, name: str, asked: Asked) -> Asked:
        known = [each.asked for each in self._registry.job(name).operations if each.asked.version == asked.version]
        if not known:
            raise MillstreamError(
                "MS-MANAGER-001", f'job "{name}" has no version {asked.version} to change to.', hint="diff brings one"
            )
        return replace(asked, file=known[-1].file)

    def _received(self, name: str, sent: Submission) -> Asked:
        """With the settings and the environment that the job has, unless others are sent."""
        job = self._registry.job(name)
        refuse_busy(job)
        own = self._home.version(name, job.version) / "env"
        with received(self._home, replace(sent, spec=job.spec), own.read_text() if own.exists() else None) as code:
            if code.name != name:
                raise MillstreamError(
                    "MS-MANAGER-015",
                    f'{sent.file} has the job "{code.name}", not "{name}".',
                    hint="a job of another name is another job: submit it",
                )
            version = keep(code.folder, self._home.job(name) / "versions")
        return replace(sent.asked, version=version, file=sent.file)

    def _begin(
        self, name: str, kind: str, by: str, asked: Asked, check: Check, keeps: bool = False, note: str = ""
    ) -> Operation:
        """`keeps`: what the job was is noted, to come back to. `note`: to be said when it starts."""
        operation, now = replace(new(kind, by), note=note), now_ms()

        def change(job: JobRecord) -> JobRecord:
            check(job)
            # One that has failed is upgraded so that it runs again.
            ran = not job.at_rest or job.wanted is not None or (kind == "upgrade" and job.state is JobState.FAILED)
            before = Before(ran, job.version, job.file, job.spec.parallelism) if keeps else None
            return begin(job, replace(operation, asked=asked, before=before), now)

        job = self._registry.update(name, change)
        return job.operation(operation.id) or operation
