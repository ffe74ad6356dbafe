"""What managers agree on: a job, its current run, what was done to it. Small, and JSON."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from millstream.manager.states import AT_REST, JobState, check

KEPT = 50
"""How many moves, runs, failures and operations of a job are remembered."""

STARTS = ("submit", "start")
"""The operations that want a driver."""
STARTING = ("start", "trial", "return")
"""The steps of operations that want one."""
BESIDE = ("savepoint", "diff")
"""The operations with steps that leave the job alone: others may go on beside them."""


@dataclass(frozen=True)
class Spec:
    """How a job is to run: what `millstream submit` says."""

    mode: str | None = None
    every: str | None = None
    master: str | None = None
    deploy_mode: str | None = None
    """`cluster`: its driver runs on a machine of the cluster; otherwise on the manager's."""
    parallelism: int | None = None
    restarts: str = "exponential"
    checkpoint: str | None = None
    conf: dict[str, str] = field(default_factory=dict)
    shared_disk: bool = False
    folder: str | None = None
    """Where its driver works: relative paths of the job begin there."""
    hung_after_s: float = 600.0
    """A driver whose epoch lasts longer than this is taken to hang."""


@dataclass(frozen=True)
class Move:
    at: int
    before: JobState
    after: JobState
    reason: str
    by: str = "manager"


@dataclass(frozen=True)
class RunRecord:
    """One start of a driver."""

    number: int
    version: int
    leader: int
    """The number of the leadership that started it."""
    started_at: int
    ended_at: int | None = None
    ended: str | None = None


@dataclass(frozen=True)
class FailureRecord:
    at: int
    run: int
    code: str
    message: str
    place: str | None = None
    found: str | None = None
    hint: str | None = None


@dataclass(frozen=True)
class SavepointRecord:
    """A savepoint that is whole."""

    path: str
    epoch: int
    parallelism: int
    rows: int
    bytes: int
    at: int
    duration_ms: int
    operation: str
    """The id of the operation that took it."""


@dataclass(frozen=True)
class Asked:
    """What an operation is to do, as far as its kind has it."""

    savepoint: str | None = None
    """The one to restore, or where one is taken; None: beside the checkpoint."""
    parallelism: int | None = None
    version: int | None = None
    """The version of the code that the job changes to, and its file."""
    file: str | None = None
    was: dict[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    start_empty: tuple[str, ...] = ()
    fork: bool = False
    start: bool = True
    """Whether the job is started afterwards."""
    within_s: float = 180.0
    """Seconds within which a new version has to commit an epoch."""


@dataclass(frozen=True)
class Before:
    """What a job was before an operation changed it."""

    ran: bool
    version: int
    file: str
    parallelism: int | None


@dataclass(frozen=True)
class Operation:
    """Something that a user asked for; its status outlives the manager that took it."""

    id: str
    kind: str
    by: str
    begun_at: int
    state: str = "running"
    """`running`, `succeeded` or `failed`."""
    ended_at: int | None = None
    detail: str = ""
    asked: Asked = field(default_factory=Asked)
    step: str = ""
    """What of it is under way; empty: it has no steps."""
    since: int = 0
    """When that began."""
    task: int = 0
    """The number of its last process."""
    tries: int = 0
    """How often the process of this step has died."""
    run: int = 0
    """The job's last run when the step began."""
    epoch: int | None = None
    """Of the savepoint that it has taken or restored."""
    before: Before | None = None
    why: str = ""
    """What went wrong, while the job is brought back to what it was."""
    note: str = ""
    """What is to be said when it starts the job: of a cluster's slots."""

    @property
    def under_way(self) -> bool:
        """It goes step by step, and has not ended."""
        return self.state == "running" and self.step != ""


@dataclass(frozen=True)
class JobRecord:
    name: str
    spec: Spec
    file: str
    """The job's file, as it was named when it was submitted."""
    version: int
    """Of its code: counts up with every submission."""
    by: str
    created_at: int
    state: JobState = JobState.CREATED
    since: int = 0
    run: RunRecord | None = None
    epoch: int | None = None
    """The last one that was committed when this was written."""
    restarts: int = 0
    start_at: int = 0
    """When it is restarting: not before then."""
    moves: tuple[Move, ...] = ()
    runs: tuple[RunRecord, ...] = ()
    failures: tuple[FailureRecord, ...] = ()
    operations: tuple[Operation, ...] = ()
    savepoints: tuple[SavepointRecord, ...] = ()

    @property
    def at_rest(self) -> bool:
        return self.state in AT_REST

    @property
    def wanted(self) -> Operation | None:
        """The wish to start it, if there is one."""
        return next((each for each in self.operations if each.state == "running" and self._wants(each)), None)

    def _wants(self, operation: Operation) -> bool:
        """A step that wants a driver wants one run, and no second one if that fails."""
        if operation.step:
            return operation.step in STARTING and operation.run == self.number
        return operation.kind in STARTS

    @property
    def under_way(self) -> tuple[Operation, ...]:
        """The operations that go step by step, and have not ended."""
        return tuple(each for each in self.operations if each.under_way)

    @property
    def changing(self) -> Operation | None:
        """The one that nothing else may be done beside."""
        return next((each for each in self.under_way if each.kind not in BESIDE), None)

    @property
    def number(self) -> int:
        """Of its last run."""
        return self.run.number if self.run else 0

    def moved(self, after: JobState, reason: str, now: int, by: str = "manager") -> JobRecord:
        check(self.state, after)
        move = Move(now, self.state, after, reason, by)
        return replace(self, state=after, since=now, moves=(*self.moves, move)[-KEPT:])

    def started(self, reason: str, now: int, leader: int, by: str = "manager") -> JobRecord:
        """With a run of its own, which has yet to be claimed."""
        run = RunRecord(self.number + 1, self.version, leader, now)
        return replace(self.moved(JobState.STARTING, reason, now, by), run=run)

    def ended(self, how: str, now: int) -> JobRecord:
        """Its run is over."""
        if self.run is None or self.run.ended_at is not None:
            return self
        run = replace(self.run, ended_at=now, ended=how)
        return replace(self, run=run, runs=(*self.runs, run)[-KEPT:])

    def failed_with(self, failure: FailureRecord) -> JobRecord:
        return replace(self, failures=(*self.failures, failure)[-KEPT:])

    def begun(self, operation: Operation) -> JobRecord:
        return replace(self, operations=(*self.operations, operation)[-KEPT:])

    def settled(self, kinds: tuple[str, ...], state: str, detail: str, now: int) -> JobRecord:
        """Ends the operations of these kinds that are under way, and have no steps."""
        settled = tuple(
            replace(each, state=state, detail=detail, ended_at=now)
            if each.state == "running" and each.kind in kinds and not each.step
            else each
            for each in self.operations
        )
        return replace(self, operations=settled)

    def noted(self, operation: Operation) -> JobRecord:
        """With what has become of an operation."""
        return replace(
            self, operations=tuple(operation if each.id == operation.id else each for each in self.operations)
        )

    def saved(self, savepoint: SavepointRecord) -> JobRecord:
        return replace(self, savepoints=(*self.savepoints, savepoint)[-KEPT:])

    def operation(self, id: str) -> Operation | None:
        return next((each for each in self.operations if each.id == id), None)


def now_ms() -> int:
    return round(time.time() * 1000)
