"""The states of a job, and the moves between them."""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    CREATED = "created"
    STARTING = "starting"
    RUNNING = "running"
    RESTARTING = "restarting"
    STOPPING = "stopping"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SUSPENDED = "suspended"


class IllegalMove(Exception):
    """A bug of ours, or another change came first."""


MOVES: dict[JobState, frozenset[JobState]] = {
    JobState.CREATED: frozenset({JobState.STARTING, JobState.CANCELLED}),
    JobState.STARTING: frozenset(
        {
            JobState.RUNNING,
            JobState.RESTARTING,
            JobState.STOPPING,
            JobState.FINISHED,
            JobState.FAILED,
            JobState.CANCELLED,
            JobState.SUSPENDED,
        }
    ),
    JobState.RUNNING: frozenset(
        {
            JobState.RESTARTING,
            JobState.STOPPING,
            JobState.FINISHED,
            JobState.FAILED,
            JobState.CANCELLED,
            JobState.SUSPENDED,
        }
    ),
    JobState.RESTARTING: frozenset(
        {
            JobState.STARTING,
            JobState.RUNNING,
            JobState.STOPPING,
            JobState.FINISHED,
            JobState.FAILED,
            JobState.CANCELLED,
            JobState.SUSPENDED,
        }
    ),
    JobState.STOPPING: frozenset({JobState.SUSPENDED, JobState.FINISHED, JobState.FAILED, JobState.CANCELLED}),
    JobState.FINISHED: frozenset({JobState.STARTING}),
    JobState.FAILED: frozenset({JobState.STARTING}),
    JobState.CANCELLED: frozenset({JobState.STARTING}),
    JobState.SUSPENDED: frozenset({JobState.STARTING, JobState.CANCELLED}),
}
"""A job that has ended starts again from its last committed epoch."""

AT_REST = frozenset({JobState.CREATED, JobState.FINISHED, JobState.FAILED, JobState.CANCELLED, JobState.SUSPENDED})
"""No driver runs, or is to run."""


def check(before: JobState, after: JobState) -> None:
    if after not in MOVES[before]:
        raise IllegalMove(f"a job cannot go from {before} to {after}")
