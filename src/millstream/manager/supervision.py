"""What becomes of a job, given what is seen of its driver. A plain function: no clock, no process, nothing to wait for.

Whoever leads writes the new record first and acts then. What it was about to do can be read off the record, so that a
manager that takes over does it, and one that was too slow does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from millstream.manager.policy import policy
from millstream.manager.records import FailureRecord, JobRecord
from millstream.manager.states import JobState

STOP_WITHIN_MS = 60_000
"""A driver that has not stopped by then is killed: what is committed is safe."""
STARTING = ("starting", "created")


class Effect(Enum):
    NOTHING = "nothing"
    SPAWN = "spawn"
    STOP = "stop"
    KILL = "kill"


@dataclass(frozen=True)
class Seen:
    """A run's driver, as far as it can be seen from here."""

    alive: bool = True
    """Its process is there, or may be; False: there is none any more."""
    fresh: bool = True
    """Its heart beats."""
    status: dict[str, Any] | None = None
    """What it last reported."""
    ended: dict[str, Any] | None = None
    """How it said that it ended."""
    died: str = "its driver is gone"
    """What is known of its death, if it said nothing."""


@dataclass(frozen=True)
class Verdict:
    job: JobRecord
    effect: Effect = Effect.NOTHING
    operation: str | None = None
    """The id of the operation whose task the effect is on; None: it is on the job's driver."""


def judge(job: JobRecord, seen: Seen, now: int, leader: int) -> Verdict:
    verdict = judged(job, seen, now, leader)
    last = last_epoch(seen)
    if verdict.job == job or last is None:
        return verdict
    return replace(verdict, job=replace(verdict.job, epoch=last))


def last_epoch(driver: Seen) -> int | None:
    """As its driver last reported."""
    figures = (driver.status or {}).get("metrics") or {}
    last = figures.get("last_epoch") or {}
    return last.get("epoch")


def judged(job: JobRecord, seen: Seen, now: int, leader: int) -> Verdict:
    if job.at_rest:
        return at_rest(job, seen, now, leader)
    assert job.run is not None
    if not seen.alive or seen.ended is not None:
        return over(job, seen, now, leader)
    if job.state is JobState.RESTARTING and job.run.ended_at is not None:
        # It was given up: whatever is left of it must go before another one starts.
        return Verdict(job, Effect.KILL)
    if job.state is JobState.STOPPING:
        late = now - job.since > STOP_WITHIN_MS or not seen.fresh
        return Verdict(job, Effect.KILL if late else Effect.STOP)
    return lives(job, seen, now)


def at_rest(job: JobRecord, seen: Seen, now: int, leader: int) -> Verdict:
    """Nothing is to run until a user starts it."""
    if job.run is not None and seen.alive:
        return Verdict(job, Effect.KILL)
    if job.run is not None and job.run.ended_at is None:
        how = str(job.state)
        return Verdict(job.ended(how, now).settled(("cancel",), "succeeded", f"run {job.number} has ended", now))
    wanted = job.wanted
    if wanted is None:
        return Verdict(job)
    reason = f"{wanted.by} started it" + (f"; {wanted.note}" if wanted.note else "")
    return Verdict(job.started(reason, now, leader, wanted.by), Effect.SPAWN)


def lives(job: JobRecord, seen: Seen, now: int) -> Verdict:
    """A driver is there: whether it hangs, and what it says of itself."""
    hangs = hung(job, seen)
    if hangs is not None:
        return restart(job, "MS-MANAGER-011", hangs, now, Effect.KILL)
    said = (seen.status or {}).get("state", "starting")
    if said in STARTING or (said == "restarting" and job.state is JobState.STARTING):
        return Verdict(job)
    if said in ("failing", "restarting") and job.state is JobState.RUNNING:
        job = replace(job, restarts=job.restarts + 1)
        return Verdict(job.moved(JobState.RESTARTING, "the job failed, and its driver starts it again", now))
    if said == "running" and job.state in (JobState.STARTING, JobState.RESTARTING):
        job = job.settled(("start", "submit"), "succeeded", f"run {job.number} is running", now)
        return Verdict(job.moved(JobState.RUNNING, f"run {job.number} is running", now))
    return Verdict(job)


def hung(job: JobRecord, seen: Seen) -> str | None:
    """Why it is taken to hang; None: it does not, though it may be slow."""
    if not seen.fresh:
        return "its driver has not reported for a while, though its process is there"
    status = seen.status or {}
    limit_ms = job.spec.hung_after_s * 1000
    if status.get("state") != "running":
        return None
    if status.get("busy") and status.get("epoch_ended_ms_ago", 0) > limit_ms:
        return f"its epoch has lasted longer than {job.spec.hung_after_s:g} s"
    if status.get("looked_ms_ago", 0) > limit_ms:
        return f"its driver has not looked after the job for {job.spec.hung_after_s:g} s"
    return None


def over(job: JobRecord, seen: Seen, now: int, leader: int) -> Verdict:
    """No driver is there. What it may have left, a JVM without its Python, must go."""
    effect = Effect.KILL
    ended = seen.ended or {}
    if job.run is not None and job.run.ended_at is not None and job.state is JobState.RESTARTING:
        return again(job, now, leader)
    if job.state is JobState.STOPPING and ended.get("state") != "finished":
        return Verdict(stopped(job, ended, now), effect)
    if ended.get("state") == "finished":
        job = job.ended("finished", now).settled(("start", "submit", "stop"), "succeeded", "its input has ended", now)
        return Verdict(job.moved(JobState.FINISHED, "its input has ended", now), effect)
    if ended.get("state") == "stopped":
        job = job.ended("stopped", now)
        return Verdict(job.moved(JobState.SUSPENDED, "its driver was told to stop", now), effect)
    return broken(job, seen, now, effect)


def stopped(job: JobRecord, ended: dict[str, Any], now: int) -> JobRecord:
    how = "stopped" if ended.get("state") == "stopped" else "killed, as it did not stop in time"
    job = job.ended(how, now).settled(("stop",), "succeeded", f"run {job.number} {how}", now)
    return job.moved(JobState.SUSPENDED, f"stopped; run {job.number} was {how}", now)


def broken(job: JobRecord, seen: Seen, now: int, effect: Effect) -> Verdict:
    """It died, or said what went wrong."""
    error = (seen.ended or {}).get("error")
    if error is None:
        return restart(job, "MS-MANAGER-010", seen.died, now, effect)
    failure = FailureRecord(
        now, job.number, error["code"], error["message"], error.get("at"), error.get("found"), error.get("hint")
    )
    if error.get("transient"):
        return retried(job.failed_with(failure), failure.message, now, effect)
    return Verdict(given_up(job.failed_with(failure), f"{failure.code}: {failure.message}", now), effect)


def restart(job: JobRecord, code: str, why: str, now: int, effect: Effect) -> Verdict:
    message = f'job "{job.name}": {why}.'
    hint = f"its log is that of run {job.number}: millstream logs {job.name} --run {job.number}"
    return retried(job.failed_with(FailureRecord(now, job.number, code, message, hint=hint)), why, now, effect)


def retried(job: JobRecord, why: str, now: int, effect: Effect) -> Verdict:
    """By its policy, which looks at all failures since a user started it."""
    delay = policy(job.spec.restarts).delay_ms(moments(job))
    if delay is None:
        return Verdict(given_up(job, why, now), effect)
    job = replace(job.ended(why, now), restarts=job.restarts + 1, start_at=now + delay)
    if job.state is JobState.RESTARTING:
        return Verdict(job, effect)
    return Verdict(job.moved(JobState.RESTARTING, f"{why}; again in {delay / 1000:g} s", now), effect)


def moments(job: JobRecord) -> Sequence[float]:
    begun = max((move.at for move in job.moves if move.by != "manager"), default=0)
    return [failure.at / 1000 for failure in job.failures if failure.at >= begun]


def given_up(job: JobRecord, why: str, now: int) -> JobRecord:
    job = job.ended(why, now).settled(("start", "submit", "stop"), "failed", why, now)
    return job.moved(JobState.FAILED, why, now)


def again(job: JobRecord, now: int, leader: int) -> Verdict:
    if now < job.start_at:
        return Verdict(job)
    return Verdict(job.started("started again from its last committed epoch", now, leader), Effect.SPAWN)
