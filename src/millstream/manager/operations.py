"""Operations that go step by step: a plain function says what follows. No clock, no process, nothing to wait for.

savepoint   savepoint
stop        stop ─▶ savepoint
restore     restore ─▶ start
rescale     stop ─▶ savepoint ─▶ restore ─▶ start
upgrade     diff ─▶ stop ─▶ savepoint ─▶ restore ─▶ trial
diff        diff
                                            ╰─ if it fails: halt ─▶ fence ─▶ back ─▶ return

Which step an operation is in stands in the job's record before anything of it is done, so that a manager that takes
over goes on with it. What needs Spark is a task, a process of its own that claims its number as a driver claims its
run; one that dies is repeated, and every task can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from millstream.manager.records import Asked, JobRecord, Operation, SavepointRecord
from millstream.manager.states import JobState
from millstream.manager.supervision import Effect, Seen, Verdict, last_epoch

STEPS: Mapping[str, tuple[str, ...]] = {
    "savepoint": ("savepoint",),
    "stop": ("stop", "savepoint"),
    "submit": ("restore", "start"),
    "restore": ("restore", "start"),
    "rescale": ("stop", "savepoint", "restore", "start"),
    "upgrade": ("diff", "stop", "savepoint", "restore", "trial"),
    "diff": ("diff",),
}
BACK = ("halt", "fence", "back", "return")
"""The steps back to what the job was."""
TASKS = frozenset({"savepoint", "restore", "diff", "fence", "back"})
TRIES = 3
BEGUN, CANCELLED = "begun", "cancelled"
WORDS = {
    BEGUN: "about to begin",
    "diff": "comparing with the saved state",
    "stop": "stopping the job",
    "savepoint": "saving its state",
    "restore": "restoring its state",
    "start": "starting the job",
    "trial": "waiting for an epoch of the new version",
    "halt": "stopping the new version",
    "fence": "shutting the new version out",
    "back": "bringing its state back",
    "return": "starting the job as it was",
    CANCELLED: "ending",
}


def begin(job: JobRecord, operation: Operation, now: int) -> JobRecord:
    """The leader enters its first step."""
    return job.begun(replace(operation, step=BEGUN, since=now))


def enter(job: JobRecord, operation: Operation, step: str, now: int) -> JobRecord:
    task = operation.task + (step in TASKS)
    operation = replace(operation, step=step, since=now, task=task, tries=0, run=job.number)
    if step in ("stop", "halt") and not job.at_rest and job.state is not JobState.STOPPING:
        job = job.moved(JobState.STOPPING, f"{operation.by}: {operation.kind}", now, operation.by)
    if step == "return" and operation.before is not None:
        before = operation.before
        spec = replace(job.spec, parallelism=before.parallelism)
        job = replace(job, version=before.version, file=before.file, spec=spec)
    return job.noted(operation)


def advance(job: JobRecord, operation: Operation, task: Seen, driver: Seen, now: int) -> Verdict:
    """What becomes of the job. `task`: the process of a step that has one. `driver`: of the job's run."""
    match operation.step:
        case "begun":
            first = next(step for step in STEPS[operation.kind] if step not in skipped(operation))
            return entered(job, operation, first, now)
        case "stop" | "halt":
            return stopping(job, operation, now)
        case "start" | "return":
            return starting(job, operation, now)
        case "trial":
            return tried(job, operation, driver, now)
        case "cancelled":
            return cancelled(job, operation, task, now)
        case _:
            return worked(job, operation, task, now)


def entered(job: JobRecord, operation: Operation, step: str, now: int) -> Verdict:
    """A task is started when its step is written."""
    return Verdict(enter(job, operation, step, now), Effect.SPAWN if step in TASKS else Effect.NOTHING, operation.id)


def following(job: JobRecord, operation: Operation, now: int) -> Verdict:
    steps = STEPS[operation.kind]
    rest = [step for step in steps[steps.index(operation.step) + 1 :] if step not in skipped(operation)]
    if not rest:
        return settled(job, operation, "succeeded", told(job, operation), now)
    return entered(job, operation, rest[0], now)


def skipped(operation: Operation) -> tuple[str, ...]:
    """A job that did not run is not started."""
    ran = operation.asked.start if operation.before is None else operation.before.ran
    return () if ran else ("stop", "start", "trial")


def told(job: JobRecord, operation: Operation) -> str:
    match operation.kind:
        case "savepoint" | "stop":
            return f"epoch {operation.epoch} is saved in {operation.asked.savepoint}"
        case "rescale":
            return f"parallelism is {operation.asked.parallelism}, after epoch {operation.epoch}"
        case "upgrade":
            return f"version {job.version}, after epoch {operation.epoch}"
        case _:
            return f"goes on after epoch {operation.epoch}"


def settled(job: JobRecord, operation: Operation, state: str, detail: str, now: int) -> Verdict:
    return Verdict(job.noted(replace(operation, state=state, detail=detail, ended_at=now)))


def stopping(job: JobRecord, operation: Operation, now: int) -> Verdict:
    if not job.at_rest or (job.run is not None and job.run.ended_at is None):
        return Verdict(job)
    return entered(job, operation, "fence", now) if operation.step == "halt" else following(job, operation, now)


def starting(job: JobRecord, operation: Operation, now: int) -> Verdict:
    back = operation.step == "return"
    if job.number == operation.run:
        return Verdict(job)
    if job.state in (JobState.RUNNING, JobState.FINISHED):
        if back:
            return settled(job, operation, "failed", f"{ended_as(operation)} The job runs again as it was", now)
        return settled(job, operation, "succeeded", told(job, operation), now)
    if job.at_rest:
        why = job.moves[-1].reason
        return settled(job, operation, "failed", f"{ended_as(operation)} Then: {why}" if back else why, now)
    return Verdict(job)


def ended_as(operation: Operation) -> str:
    """What went wrong, as a sentence."""
    return f"{operation.why.rstrip('.')}."


def tried(job: JobRecord, operation: Operation, driver: Seen, now: int) -> Verdict:
    """A new version stands when it has committed an epoch; or if nothing has come that it could have read."""
    if job.number == operation.run:
        return Verdict(job)
    last = last_epoch(driver)
    committed = last is not None and last > (operation.epoch or 0)
    if job.state is JobState.FINISHED or (job.state is JobState.RUNNING and committed):
        return settled(job, operation, "succeeded", f"version {job.version} has committed epoch {last}", now)
    version = f"version {job.version}"
    if job.at_rest:
        return undone(job, operation, f"{version} has failed: {job.moves[-1].reason}", "fence", now)
    if now - operation.since <= operation.asked.within_s * 1000:
        return Verdict(job)
    if job.state is JobState.RUNNING and idle(driver):
        return settled(job, operation, "succeeded", f"{version} runs; nothing has come for it to read yet", now)
    trouble = job.failures[-1].message if job.failures and job.failures[-1].at >= operation.since else ""
    why = f"{version} has not committed an epoch within {operation.asked.within_s:g} s"
    return undone(job, operation, f"{why}: {trouble}" if trouble else why, "halt", now)


def idle(driver: Seen) -> bool:
    status = driver.status or {}
    figures = status.get("metrics") or {}
    sources = figures.get("sources") or ()
    return driver.fresh and not status.get("busy") and bool(sources) and not any(part["lag"] for part in sources)


def undone(job: JobRecord, operation: Operation, why: str, step: str, now: int) -> Verdict:
    """The way back begins with this step."""
    return entered(job, replace(operation, why=why), step, now)


def cancelled(job: JobRecord, operation: Operation, task: Seen, now: int) -> Verdict:
    if operation.task and task.alive and task.ended is None:
        return Verdict(job, Effect.KILL, operation.id)
    return settled(job, operation, "failed", operation.why, now)


def worked(job: JobRecord, operation: Operation, task: Seen, now: int) -> Verdict:
    """A task is under way, or has ended."""
    if task.ended is not None:
        if task.ended["state"] == "succeeded":
            return succeeded(job, operation, task.ended["result"], now)
        return failed(job, operation, said(task.ended), now)
    if task.alive:
        return Verdict(job, Effect.NOTHING if task.fresh else Effect.KILL, operation.id)
    if operation.tries + 1 >= TRIES:
        return failed(job, operation, f"its process died {TRIES} times ({operation.step})", now)
    again = replace(operation, task=operation.task + 1, tries=operation.tries + 1)
    return Verdict(job.noted(again), Effect.SPAWN, operation.id)


def said(ended: dict[str, Any]) -> str:
    error = ended.get("error")
    if error is None:
        return f"its process was {ended['state']}"
    found = f" Found: {error['found']}" if error.get("found") else ""
    return f"{error['code']}: {error['message']}{found}"


def succeeded(job: JobRecord, operation: Operation, result: dict[str, Any], now: int) -> Verdict:
    match operation.step:
        case "diff":
            return compared(job, operation, result, now)
        case "savepoint":
            return saved(job, operation, result, now)
        case "restore":
            operation = replace(operation, epoch=result["epoch"])
            return following(changed(job.noted(operation), operation.asked), operation, now)
        case "fence":
            return entered(job, operation, "back", now)
        case _:
            if operation.before is not None and operation.before.ran:
                return entered(job, operation, "return", now)
            return settled(job, operation, "failed", operation.why, now)


def compared(job: JobRecord, operation: Operation, result: dict[str, Any], now: int) -> Verdict:
    wrong = [one["name"] for one in result["changes"] if one["state"] == "incompatible"]
    if operation.kind == "diff":
        detail = f"in the way: {', '.join(wrong)}" if wrong else "its state can be kept"
        return settled(job, operation, "succeeded", detail, now)
    if wrong:
        detail = f"its state does not fit the new version: {', '.join(wrong)}. The job runs on"
        return settled(job, operation, "failed", detail, now)
    return following(job, operation, now)


def saved(job: JobRecord, operation: Operation, result: dict[str, Any], now: int) -> Verdict:
    """It counts from now on, whatever becomes of the rest. The one of a rescale is deleted when it has served."""
    savepoint = SavepointRecord(**result, at=now, operation=operation.id)
    asked = replace(operation.asked, savepoint=savepoint.path)
    operation = replace(operation, epoch=savepoint.epoch, asked=asked)
    if operation.kind != "rescale":
        job = job.saved(savepoint)
    return following(job.noted(operation), operation, now)


def changed(job: JobRecord, asked: Asked) -> JobRecord:
    """The job as it goes on from restored state."""
    if asked.version is not None and asked.file is not None:
        job = replace(job, version=asked.version, file=asked.file)
    if asked.parallelism is not None:
        job = replace(job, spec=replace(job.spec, parallelism=asked.parallelism))
    return job


def failed(job: JobRecord, operation: Operation, why: str, now: int) -> Verdict:
    """A step could not be done. If it had stopped the job, that goes on as it was."""
    if operation.step in ("fence", "back"):
        detail = f"{ended_as(operation)} It cannot go back: {why}"
        return settled(job, operation, "failed", detail, now)
    if operation.step == "savepoint" and operation.before is not None and operation.before.ran:
        return undone(job, operation, why, "return", now)
    if operation.step == "restore" and operation.kind in ("rescale", "upgrade"):
        return undone(job, operation, why, "fence", now)
    return settled(job, operation, "failed", why, now)
