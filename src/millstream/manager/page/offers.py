"""What can be done to a job now, and what will happen then: said before it is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.manager.operations import STEPS, WORDS, skipped
from millstream.manager.page.words import bytes_of, length
from millstream.manager.records import JobRecord, Operation, SavepointRecord
from millstream.manager.states import JobState
from millstream.manager.views import JobView


@dataclass(frozen=True)
class Field:
    """Something to fill in. `options`: to choose from."""

    name: str
    label: str
    kind: str = "text"
    value: str = ""
    hint: str = ""
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Offer:
    what: str
    title: str
    then: str
    fields: tuple[Field, ...] = ()
    danger: bool = False


def offers(job: JobRecord, shown: JobView) -> list[Offer]:
    end = Offer("cancel", "Cancel", said_of_cancel(job), danger=True)
    if job.changing is not None:
        return [end]
    if job.at_rest:
        return [start(), *restores(job), *([rescale(job, shown)] if job.run else [])]
    if job.state is JobState.STOPPING:
        return [end]
    return [savepoint(job, shown), stop(job, shown), rescale(job, shown), end]


def said_of_cancel(job: JobRecord) -> str:
    if job.changing is not None:
        return (
            f"Ends the {job.changing.kind} that is under way, and the job's driver, at once. What is committed stays."
        )
    return "Ends its driver at once. What is committed stays; the rest is read again at the next start."


def start() -> Offer:
    return Offer("start", "Start", "Starts its driver again. It goes on from its last committed epoch.")


PATH = Field("path", "Folder", hint="beside its checkpoint")


def savepoint(job: JobRecord, shown: JobView) -> Offer:
    then = f"Saves the state of the last committed epoch{so_far(shown)}. The job goes on{lasts(job)}."
    return Offer("savepoint", "Savepoint", then, (PATH,))


def stop(job: JobRecord, shown: JobView) -> Offer:
    then = (
        "Stops it after the epoch that is under way. It can be started again from there. With a savepoint, its state "
        f"is saved then{so_far(shown)}{lasts(job)}; if that fails, the job goes on."
    )
    return Offer("stop", "Stop", then, (Field("savepoint", "with a savepoint", "checkbox"), PATH))


def rescale(job: JobRecord, shown: JobView) -> Offer:
    now = str(job.spec.parallelism or "")
    again = ", and starts it again" if not job.at_rest else ""
    stops = "Stops it after" if not job.at_rest else "After"
    then = (
        f"{stops} the last committed epoch, divides its state{so_far(shown)} into as many parts{again}{lasts(job, 2)}."
    )
    return Offer("rescale", "Rescale", then, (Field("parallelism", "Parallelism", "number", now),))


def restores(job: JobRecord) -> list[Offer]:
    if not job.savepoints:
        return []
    options = tuple((each.path, f"epoch {each.epoch:,}: {each.path}") for each in reversed(job.savepoints))
    then = (
        "Makes a new checkpoint out of a savepoint, and starts the job from there. It is refused if the job has gone "
        "on since: what it wrote after that would be written twice."
    )
    return [Offer("restore", "Restore", then, (Field("savepoint", "Savepoint", "select", options=options),))]


def so_far(shown: JobView) -> str:
    """` (now epoch 8,112, 1.3 GB)`"""
    if shown.epoch is None:
        return ""
    return f" (now epoch {shown.epoch:,}, {bytes_of(shown.state_bytes)})"


def lasts(job: JobRecord, times: int = 1) -> str:
    last: SavepointRecord | None = job.savepoints[-1] if job.savepoints else None
    return "" if last is None else f"; about {length(last.duration_ms * times)}, by the last savepoint"


@dataclass(frozen=True)
class Progress:
    """An operation, as the page shows it."""

    operation: Operation
    steps: tuple[tuple[str, str], ...]
    """Each with `done`, `now` or `ahead`."""


def progress(operation: Operation) -> Progress:
    planned = [step for step in STEPS.get(operation.kind, ()) if step not in skipped(operation)]
    if operation.step not in planned:  # on the way back, or about to begin
        planned = [operation.step] if operation.step in WORDS else planned
    at = planned.index(operation.step) if operation.step in planned else -1
    marks = ("done" if place < at else "now" if place == at else "ahead" for place in range(len(planned)))
    return Progress(operation, tuple((WORDS[step], mark) for step, mark in zip(planned, marks, strict=True)))
