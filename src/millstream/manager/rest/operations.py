"""What is done to a job, and how that goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body, File, Form, Path, UploadFile
from pydantic import Field
from pydantic.dataclasses import dataclass

from millstream.errors import MillstreamError
from millstream.manager.actions import Submission
from millstream.manager.home import read_json
from millstream.manager.records import Asked, Operation, SavepointRecord, Spec
from millstream.manager.rest.errors import PROBLEMS
from millstream.manager.rest.jobs import ASKED, Here, Limit, Name, Offset, Page, Who, page, understood
from millstream.manager.service import Service
from millstream.manager.tokens import Identity

router = APIRouter(prefix="/api/v1", responses=PROBLEMS)
Id = Annotated[str, Path(pattern="^[0-9a-f]{12}$")]
Where = Annotated[str | None, Field(min_length=1, max_length=2000)]
Names = Annotated[tuple[str, ...], Field(max_length=1000)]
Archive = Annotated[UploadFile, File(description="A tar.gz of the job's file and its modules.")]
JobFile = Annotated[str, Form(description="Which file of the archive has the job.", min_length=1, max_length=500)]
Choices = Annotated[str, Form(description="was, drop, start_empty, within_s: an Asked, as JSON.")]
Env = Annotated[str, Form(description="Its environment, if it changes: lines of NAME=VALUE.")]


@dataclass(frozen=True)
class SavepointAsked:
    path: Where = None
    """A new folder; without one beside the job's checkpoint."""


@dataclass(frozen=True)
class StopAsked:
    savepoint: bool = False
    path: Where = None


@dataclass(frozen=True)
class RestoreAsked:
    savepoint: Annotated[str, Field(min_length=1, max_length=2000)]
    was: dict[str, str] = Field(default_factory=dict)
    drop: Names = ()
    start_empty: Names = ()
    fork: bool = False
    start: bool = True


@dataclass(frozen=True)
class RescaleAsked:
    parallelism: Annotated[int, Field(ge=1, le=10_000)]


def noted(here: Service, who: Identity, what: str, name: str, do: Callable[[], Operation] | None = None) -> Operation:
    """Does it, and writes down who did."""
    outcome = "refused"
    try:
        done: Operation = do() if do is not None else getattr(here.actions, what)(name, who.name)
        outcome = done.id
        return done
    finally:
        here.audit.note(who.name, what, name, outcome)


@router.post("/jobs/{name}/start", status_code=202)
def start(here: Here, who: Who, name: Name) -> Operation:
    """Starts a job again, from its last committed epoch."""
    return noted(here, who, "start", name)


@router.post("/jobs/{name}/stop", status_code=202)
def stop(here: Here, who: Who, name: Name, asked: Annotated[StopAsked | None, Body()] = None) -> Operation:
    """Stops a job between two epochs; with a savepoint, if one is asked for."""
    if asked is None or not asked.savepoint:
        return noted(here, who, "stop", name)
    told = Asked(savepoint=asked.path)
    return noted(here, who, "stop", name, lambda: here.changes.stop(name, who.name, told))


@router.post("/jobs/{name}/cancel", status_code=202)
def cancel(here: Here, who: Who, name: Name) -> Operation:
    """Ends a job at once, and whatever is being done to it."""
    return noted(here, who, "cancel", name)


@router.post("/jobs/{name}/savepoint", status_code=202)
def savepoint(here: Here, who: Who, name: Name, asked: Annotated[SavepointAsked | None, Body()] = None) -> Operation:
    """Saves the state of the last committed epoch. The job goes on."""
    told = Asked(savepoint=asked.path if asked else None)
    return noted(here, who, "savepoint", name, lambda: here.changes.savepoint(name, who.name, told))


@router.post("/jobs/{name}/restore", status_code=202)
def restore(here: Here, who: Who, name: Name, asked: RestoreAsked) -> Operation:
    """Makes a new checkpoint out of a savepoint, for a job that does not run, and starts it."""
    told = Asked(
        savepoint=asked.savepoint,
        was=dict(asked.was),
        drop=asked.drop,
        start_empty=asked.start_empty,
        fork=asked.fork,
        start=asked.start,
    )
    return noted(here, who, "restore", name, lambda: here.changes.restore(name, who.name, told))


@router.post("/jobs/{name}/rescale", status_code=202)
def rescale(here: Here, who: Who, name: Name, asked: RescaleAsked) -> Operation:
    """Divides a job's state into another number of parts: stops it, saves, restores, and goes on."""
    told = Asked(parallelism=asked.parallelism)
    return noted(here, who, "rescale", name, lambda: here.changes.rescale(name, who.name, told))


@router.post("/jobs/{name}/diff", status_code=202)
def diff(
    here: Here, who: Who, name: Name, archive: Archive, file: JobFile, asked: Choices = "{}", env: Env = ""
) -> Operation:
    """What would become of the job's state with a new file. Its result lists every step; nothing is started.

    The files are kept: `asked.version` of the answer is what an upgrade can be told."""
    sent = Submission(archive.file.read(), file, Spec(), env, who.name, understood(ASKED, asked))
    return noted(here, who, "diff", name, lambda: here.changes.diff(name, sent))


@router.post("/jobs/{name}/upgrade", status_code=202)
def upgrade(
    here: Here,
    who: Who,
    name: Name,
    archive: Annotated[UploadFile | None, File(description="As for a diff; not with `version` in `asked`.")] = None,
    file: JobFile = "job.py",
    asked: Choices = "{}",
    env: Env = "",
) -> Operation:
    """Diff, savepoint, stop, restore with the new file; back to the old one if it commits no epoch within a limit."""
    choices = understood(ASKED, asked)
    if archive is None and choices.version is None:
        raise MillstreamError("MS-MANAGER-422", "an upgrade needs an archive, or the version of a diff.")
    packed = archive.file.read() if archive is not None else b""
    sent = Submission(packed, file, Spec(), env, who.name, choices)
    return noted(here, who, "upgrade", name, lambda: here.changes.upgrade(name, sent))


@router.get("/jobs/{name}/operations")
def operations(here: Here, name: Name, offset: Offset = 0, limit: Limit = 200) -> Page[Operation]:
    """What people did to it."""
    return page(list(reversed(here.registry.job(name).operations)), offset, limit)


@router.get("/jobs/{name}/operations/{id}")
def operation(here: Here, name: Name, id: Id) -> Operation:
    """How one of these goes."""
    found = here.registry.job(name).operation(id)
    if found is None:
        raise MillstreamError("MS-MANAGER-001", f'job "{name}" has no operation {id}.')
    return found


@router.get("/jobs/{name}/operations/{id}/result")
def result(here: Here, name: Name, id: Id) -> dict[str, Any]:
    """What its last task found: of a diff, `compatible` and `changes`; of a savepoint, what is in it."""
    return result_of(here, name, operation(here, name, id))


def result_of(here: Service, name: str, found: Operation) -> dict[str, Any]:
    ended = here.home.task(name, found.id, found.task).ended() if found.task else None
    told: dict[str, Any] = (ended or {}).get("result") or {}
    return told


@router.get("/jobs/{name}/savepoints")
def savepoints(here: Here, name: Name, offset: Offset = 0, limit: Limit = 200) -> Page[SavepointRecord]:
    """Those that were taken, newest first, with size and duration."""
    return page(list(reversed(here.registry.job(name).savepoints)), offset, limit)


@router.get("/jobs/{name}/checkpoints")
def checkpoints(here: Here, name: Name, limit: Limit = 100) -> list[dict[str, Any]]:
    """Of the last epochs, newest first: size, duration, and by task how long barriers took and what was saved."""
    job = here.registry.job(name)
    found: dict[str, Any] = read_json(here.home.run(name, job.number).checkpoints, {"checkpoints": []})
    return [{**one, "align_ms": longest(one["tasks"])} for one in reversed(found["checkpoints"])][:limit]


def longest(tasks: list[dict[str, Any]]) -> int | None:
    """How long barriers took to come to the last of all tasks; None: no barriers flow."""
    return max((one["align_ms"] for one in tasks if one["align_ms"] is not None), default=None)
