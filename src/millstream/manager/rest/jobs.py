"""Jobs: the list, one of them, and what is done to it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, TypeVar

from fastapi import APIRouter, Depends, File, Form, Path, Query, Request, Response, UploadFile
from pydantic import TypeAdapter, ValidationError

from millstream.errors import MillstreamError
from millstream.manager.actions import Submission
from millstream.manager.home import read_json
from millstream.manager.records import Asked, FailureRecord, JobRecord, Move, RunRecord, Spec
from millstream.manager.rest.errors import PROBLEMS
from millstream.manager.rest.who import administrator, service_of, who_of
from millstream.manager.service import Service
from millstream.manager.support import bundle
from millstream.manager.tokens import Identity
from millstream.manager.views import JobView, view
from millstream.reports.folder import newest

MOST = 1_000
SECRET = re.compile(r"secret|password|token|key|credential", re.IGNORECASE)
router = APIRouter(prefix="/api/v1", responses=PROBLEMS)
SPEC, ASKED = TypeAdapter(Spec), TypeAdapter(Asked)
Item = TypeVar("Item")
Told = TypeVar("Told")
Name = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,128}$")]
Offset = Annotated[int, Query(ge=0, le=1_000_000)]
Limit = Annotated[int, Query(ge=1, le=MOST)]
Here = Annotated[Service, Depends(service_of)]
Who = Annotated[Identity, Depends(who_of)]


@dataclass(frozen=True)
class Page(Generic[Item]):
    """Part of a list, newest first where it has an order in time."""

    items: list[Item]
    total: int
    offset: int


def page(items: list[Item], offset: int, limit: int) -> Page[Item]:
    return Page(items[offset : offset + limit], len(items), offset)


@router.get("/jobs")
def jobs(here: Here, offset: Offset = 0, limit: Limit = 200) -> Page[JobView]:
    """All jobs, by name: how each is."""
    known = here.registry.jobs()
    return Page([view(job, here.home) for job in known[offset : offset + limit]], len(known), offset)


@router.post("/jobs", status_code=201)
def submit(
    here: Here,
    who: Who,
    archive: Annotated[UploadFile, File(description="A tar.gz of the job's file and its modules.")],
    file: Annotated[str, Form(description="Which file of the archive has the job.", min_length=1, max_length=500)],
    spec: Annotated[str, Form(description="How it is to run: a Spec, as JSON.")] = "{}",
    env: Annotated[str, Form(description="Its environment: lines of NAME=VALUE. Never shown again.")] = "",
    asked: Annotated[str, Form(description="A savepoint to begin from: an Asked, as JSON.")] = "{}",
) -> JobRecord:
    """Takes a job and starts it. A job of that name that has ended goes on with the new file."""
    told, begins = understood(SPEC, spec), understood(ASKED, asked)
    outcome = "refused"
    try:
        job = here.actions.submit(Submission(archive.file.read(), file, told, env, who.name, begins))
        outcome = f"version {job.version}"
        return shown(job)
    finally:
        here.audit.note(who.name, "submit", file, outcome)


def understood(kind: TypeAdapter[Told], text: str) -> Told:
    """What a field of a form says as JSON."""
    try:
        return kind.validate_json(text)
    except ValidationError as error:
        found = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise MillstreamError("MS-MANAGER-422", "what is to be done is not understood.", found=found) from None


@router.get("/jobs/{name}")
def job(here: Here, name: Name) -> JobRecord:
    """All that is recorded of a job."""
    return shown(here.registry.job(name))


def shown(job: JobRecord) -> JobRecord:
    """Without what is secret: a setting that sounds like it is there, and not said."""
    conf = {name: "(not shown)" if SECRET.search(name) else value for name, value in job.spec.conf.items()}
    return replace(job, spec=replace(job.spec, conf=conf))


@router.delete("/jobs/{name}", status_code=204, dependencies=[Depends(administrator)])
def delete(here: Here, who: Who, name: Name) -> Response:
    """Forgets a job that does not run. Its checkpoint and what it has written stay."""
    here.actions.delete(name)
    here.audit.note(who.name, "delete", name, "done")
    return Response(status_code=204)


@router.get("/jobs/{name}/status")
def status(here: Here, name: Name) -> JobView:
    """How a job is."""
    return view(here.registry.job(name), here.home)


@router.get("/jobs/{name}/moves")
def moves(here: Here, name: Name, offset: Offset = 0, limit: Limit = 200) -> Page[Move]:
    """From state to state: when, and why."""
    return page(list(reversed(here.registry.job(name).moves)), offset, limit)


@router.get("/jobs/{name}/runs")
def runs(here: Here, name: Name, offset: Offset = 0, limit: Limit = 200) -> Page[RunRecord]:
    """Each start of its driver."""
    found = here.registry.job(name)
    current = [found.run] if found.run and found.run.ended_at is None else []
    return page([*current, *reversed(found.runs)], offset, limit)


@router.get("/jobs/{name}/failures")
def failures(here: Here, name: Name, offset: Offset = 0, limit: Limit = 200) -> Page[FailureRecord]:
    """What went wrong, with the line of the job's file where it is known."""
    return page(list(reversed(here.registry.job(name).failures)), offset, limit)


@router.get("/jobs/{name}/graph")
def graph(here: Here, name: Name) -> dict[str, Any]:
    """Its plan: sources, operators by stage, sinks, and who sends rows to whom."""
    return plan_of(here, here.registry.job(name))


def plan_of(here: Service, job: JobRecord) -> dict[str, Any]:
    files = here.home.version(job.name, job.run.version if job.run else job.version)
    found: dict[str, Any] = read_json(files / "plan.json", {"boxes": [], "edges": [], "levels": 0})
    return found


@router.get("/jobs/{name}/support", response_model=None, responses={200: {"content": {"application/zip": {}}}})
def support(here: Here, name: Name) -> Response:
    """A zip of all that helps to understand a job: its record, plan, reports and logs; nothing that is secret."""
    packed = bundle(here, shown(here.registry.job(name)))
    told = {"Content-Disposition": f'attachment; filename="{name}-support.zip"'}
    return Response(packed, media_type="application/zip", headers=told)


@router.get("/jobs/{name}/metrics")
def metrics(here: Here, name: Name) -> dict[str, Any]:
    """The figures that its run last reported: `run.metrics()`, and when."""
    found = here.registry.job(name)
    return here.home.run(name, found.number).status() or {}


@router.get("/jobs/{name}/samples")
def samples(here: Here, name: Name, limit: Limit = 360) -> list[dict[str, Any]]:
    """Points of the charts, newest first: one for every five seconds of its last run."""
    found = here.registry.job(name)
    return newest(here.home.run(name, found.number).samples, limit)


@router.get("/jobs/{name}/epochs")
def epochs(here: Here, name: Name, offset: Offset = 0, limit: Limit = 100) -> list[dict[str, Any]]:
    """The epochs of its last run, newest first: rows, and what each phase took."""
    found = here.registry.job(name)
    return newest(here.home.run(name, found.number).epochs, offset + limit)[offset:]


def configuration(request: Request, here: Here) -> dict[str, Any]:
    """What the manager was told; no secrets."""
    return json.loads(json.dumps(here.about(), default=str))  # type: ignore[no-any-return]


router.get("/configuration")(configuration)
