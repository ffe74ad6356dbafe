"""What the command line says about the jobs in a file; it overrides what the file itself says.

`millstream run` and `millstream explain` execute the file inside `commanded`; a job looks here when it is created and
when it is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millstream.plan.cluster import Cluster
from millstream.plan.modes import Mode
from millstream.plan.restarts import Restarts

if TYPE_CHECKING:
    from millstream.api.job import Job
    from millstream.planner.stages import JobPlan
    from millstream.runtime.run import Run


class NotToRun(BaseException):
    """Raised when the file runs a job that is only to be explained. Not an Exception: no file may catch it."""


@dataclass
class Command:
    mode: Mode | None = None
    checkpoint: str | None = None
    restarts: Restarts | None = None
    progress: bool = False
    metrics_port: int | None = None
    on: Cluster | None = None
    parallelism: int | None = None
    backfill: bool = False
    explain: bool = False
    when_planned: Callable[[Job, JobPlan], None] | None = None
    """Called with what is about to run."""
    when_started: Callable[[Run], None] | None = None
    """Called with what runs."""
    jobs: list[Job] = field(default_factory=list)
    """The jobs that the file created, in order."""
    reached: Job | None = None
    """The job that it was about to run, if none is to be run."""
    reached_in: Mode | None = None
    """The mode in which the file would have run it, if the file says so."""
    started: bool = False
    """Whether the file ran one of them itself."""

    def start(self, job: Job, mode: Mode | None) -> Mode | None:
        """The mode to start in. The checkpoint was set when the job was created."""
        if self.explain:
            self.reached, self.reached_in = job, mode
            raise NotToRun
        self.started = True
        return self.mode or mode


_CURRENT: ContextVar[Command | None] = ContextVar("command", default=None)


def current() -> Command | None:
    return _CURRENT.get()


@contextmanager
def commanded(command: Command) -> Iterator[Command]:
    token = _CURRENT.set(command)
    try:
        yield command
    finally:
        _CURRENT.reset(token)
