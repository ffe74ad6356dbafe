"""The pages *State* and *Rows*: what a job's steps keep, by key, and what its sinks are given."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from millstream.errors import MillstreamError
from millstream.manager.page.routes import about_job, page
from millstream.manager.readers import Question
from millstream.manager.rest.jobs import Here, Name, Who
from millstream.manager.rest.state import refuse_hidden
from millstream.manager.service import Service
from millstream.manager.tokens import Role

router = APIRouter(include_in_schema=False)
LIMIT = 100


@router.get("/jobs/{name}/state", response_class=HTMLResponse)
def state(
    here: Here,
    who: Who,
    name: Name,
    operator: Annotated[str, Query(max_length=300)] = "",
    key: Annotated[str, Query(max_length=1000)] = "",
    at: Annotated[str, Query(pattern="^[0-9]{0,9}$")] = "",
    count: bool = False,
) -> HTMLResponse:
    told: dict[str, Any] = about_job(here, name, "state")
    told |= {"operator": operator, "key": key, "at": at, "found": None, "problem": None, "limit": LIMIT}
    if not (operator or key or count):
        return HTMLResponse(page(here, who, "state", told))
    question = Question(operator or None, tuple(key.split()), int(at) if at else None, LIMIT)
    try:
        told["found"] = asked(here, who.role, name, question)
    except MillstreamError as error:
        return HTMLResponse(page(here, who, "state", {**told, "problem": error}), 422)
    return HTMLResponse(page(here, who, "state", told))


@router.get("/jobs/{name}/rows", response_class=HTMLResponse)
def rows(here: Here, who: Who, name: Name, look: bool = False) -> HTMLResponse:
    told: dict[str, Any] = about_job(here, name, "rows")
    told |= {"found": None, "problem": None, "limit": LIMIT, "shows": here.options.rows}
    if not look:
        return HTMLResponse(page(here, who, "rows", told))
    try:
        refuse_hidden(here)
        refuse_reader(who.role)
        told["found"] = here.readers.rows(here.registry.job(name), LIMIT)
    except MillstreamError as error:
        return HTMLResponse(page(here, who, "rows", {**told, "problem": error}), 422)
    return HTMLResponse(page(here, who, "rows", told))


def asked(here: Service, role: Role, name: str, question: Question) -> dict[str, Any]:
    refuse_reader(role)
    return here.readers.ask(here.registry.job(name), question)


def refuse_reader(role: Role) -> None:
    if role < Role.OPERATE:
        raise MillstreamError("MS-MANAGER-403", "only people who may operate a job can look at its rows.")
