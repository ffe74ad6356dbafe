"""The addresses of the page. Each can be sent to a colleague."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.concurrency import run_in_threadpool

from millstream.manager.guard import COOKIE
from millstream.manager.page import words
from millstream.manager.page.gantt import bars
from millstream.manager.page.graph import drawn
from millstream.manager.page.offers import offers, progress
from millstream.manager.rest.jobs import Here, Name, Who, plan_of
from millstream.manager.rest.live import tail
from millstream.manager.rest.operations import checkpoints, result_of
from millstream.manager.rest.proof import certificate_of
from millstream.manager.rest.state import live_rows
from millstream.manager.service import Service
from millstream.manager.tokens import SESSION, Identity, Role
from millstream.manager.views import sentence, stale, view
from millstream.reports.folder import RunFolder, newest

router = APIRouter(include_in_schema=False)
STATIC = Path(__file__).parent / "static"
EPOCHS = 50
LINES = 400
EVERY = 1.0
CHECKPOINTS = 20
TABS = ("overview", "epochs", "state", "rows", "failures", "change", "proof", "logs")

templates = Environment(
    loader=PackageLoader("millstream.manager.page"),
    autoescape=select_autoescape(),
    trim_blocks=True,
    lstrip_blocks=True,
)
templates.filters |= {
    "length": words.length,
    "number": words.number,
    "per_second": words.per_second,
    "bytes": words.bytes_of,
    "moment": words.moment,
    "ago": words.ago,
    "badge": words.badge,
    "cell": words.cell,
    "columns": words.columns,
    "parsed": words.parsed,
}


def page(here: Service, who: Identity, name: str, told: dict[str, Any], live: bool = False) -> str:
    """A whole page; `live`: only the part of it that changes."""
    csrf = here.tokens.csrf(who.session) if who.session else ""
    shared = {"who": who, "csrf": csrf, "may_operate": who.role >= Role.OPERATE, "live": live}
    return templates.get_template(f"{name}.html").render(**shared, **told)


@router.get("/", response_class=HTMLResponse)
def jobs(here: Here, who: Who) -> str:
    return page(here, who, "jobs", about_jobs(here))


def about_jobs(here: Service) -> dict[str, Any]:
    shown = [view(job, here.home) for job in here.registry.jobs()]
    order = {"failing": 0, "held back": 1}
    counts = {health: sum(each.health == health for each in shown) for health in words.SHAPES}
    return {"jobs": sorted(shown, key=lambda each: (order.get(each.health, 2), each.name)), "counts": counts}


@router.get("/jobs/{name}", response_class=HTMLResponse)
def job(here: Here, who: Who, name: Name, box: Annotated[str | None, Query(max_length=300)] = None) -> str:
    return page(here, who, "overview", about_job(here, name, "overview", box=box))


@router.get("/jobs/{name}/epochs", response_class=HTMLResponse)
def epochs(here: Here, who: Who, name: Name, offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0) -> str:
    return page(here, who, "epochs", about_job(here, name, "epochs", offset=offset))


@router.get("/jobs/{name}/failures", response_class=HTMLResponse)
def failures(here: Here, who: Who, name: Name) -> str:
    return page(here, who, "failures", about_job(here, name, "failures"))


@router.get("/jobs/{name}/logs", response_class=HTMLResponse)
def logs(here: Here, who: Who, name: Name, run: Annotated[int | None, Query(ge=1, le=1_000_000)] = None) -> str:
    return page(here, who, "logs", about_job(here, name, "logs", run=run))


@router.get("/jobs/{name}/proof", response_class=HTMLResponse)
def proof(here: Here, who: Who, name: Name) -> str:
    return page(here, who, "proof", about_job(here, name, "proof"))


def about_job(
    here: Service,
    name: str,
    tab: str,
    box: str | None = None,
    offset: int = 0,
    run: int | None = None,
    operation: str | None = None,
) -> dict[str, Any]:
    found = here.registry.job(name)
    shown, folder = view(found, here.home), here.home.run(name, found.number)
    told: dict[str, Any] = {"job": found, "shown": shown, "tab": tab, "tabs": TABS, "answer": sentence(shown)}
    told |= {"stale": stale(shown), "offers": offers(found, shown), "progress": list(map(progress, found.under_way))}
    if tab in ("overview", "proof", "state", "rows"):
        plan, status = plan_of(here, found), folder.status() or {}
        chosen = next((each for each in plan["boxes"] if each["id"] == box), None)
        told |= {"plan": plan, "graph": drawn(plan, status, name), "status": status, "box": chosen}
        told["rows"] = rows_at(here, folder, box) if box else None
        told["certificate"] = certificate_of(here, found) if tab == "proof" else None
    if tab == "epochs":
        told |= {"bars": bars(newest(folder.epochs, offset + EPOCHS)[offset:]), "offset": offset, "step": EPOCHS}
        told["checkpoints"] = checkpoints(here, name, CHECKPOINTS) if not offset else []
    if tab == "change":
        compared = found.operation(operation) if operation else None
        told |= {"compared": compared, "changes": result_of(here, name, compared) if compared else {}}
    if tab == "logs":
        told |= {"run": run or found.number, "log": tail(here.home.run(name, run or found.number).log, LINES)}
    return told


def rows_at(here: Service, folder: RunFolder, box: str) -> list[dict[str, Any]] | None:
    """The last rows that passed there, newest first; None: they are not to be seen. The page asks who looks."""
    if not here.options.rows:
        return None
    return live_rows(folder).get(box, [])[::-1]


@router.get("/cluster", response_class=HTMLResponse)
def cluster(here: Here, who: Who) -> str:
    return page(here, who, "cluster", about_cluster(here))


def about_cluster(here: Service) -> dict[str, Any]:
    return {"members": here.members(), "about": here.about(), "audit": here.audit.last(30)}


@router.get("/login", response_class=HTMLResponse)
def login(to: Annotated[str, Query(max_length=300)] = "/") -> str:
    return templates.get_template("login.html").render(to=to, wrong=False, who=None)


@router.post("/login")
def enter(
    here: Here, token: Annotated[str, Form(max_length=200)], to: Annotated[str, Form(max_length=300)] = "/"
) -> Response:
    who = here.tokens.of(token.strip())
    if who is None:
        here.audit.note("somebody", "login", None, "refused")
        return HTMLResponse(templates.get_template("login.html").render(to=to, wrong=True, who=None), 401)
    here.audit.note(who.name, "login", None, "done")
    # Only to a page of ours: `//host` is another one.
    answer = RedirectResponse(to if to.startswith("/") and not to.startswith(("//", "/\\")) else "/", 303)
    secure = here.options.certificate is not None
    answer.set_cookie(
        COOKIE, here.tokens.session(who), max_age=SESSION, httponly=True, samesite="strict", secure=secure
    )
    return answer


@router.post("/logout")
def leave() -> Response:
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE)
    return answer


@router.get("/live")
def live(
    request: Request,
    here: Here,
    who: Who,
    page: Annotated[str, Query(pattern="^(jobs|cluster|overview|epochs|failures|change|logs|proof)$")],
    name: Annotated[str | None, Query(pattern="^[A-Za-z0-9_-]{1,128}$")] = None,
    box: Annotated[str | None, Query(max_length=300)] = None,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    run: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    operation: Annotated[str | None, Query(pattern="^[0-9a-f]{12}$")] = None,
) -> StreamingResponse:
    """The part of a page that changes, made again whenever it has changed."""

    def told() -> dict[str, Any]:
        if page == "jobs":
            return about_jobs(here)
        return (
            about_cluster(here) if page == "cluster" else about_job(here, name or "", page, box, offset, run, operation)
        )

    return StreamingResponse(parts(request, here, who, page, told), media_type="text/event-stream")


async def parts(request: Request, here: Service, who: Identity, name: str, told: Any) -> AsyncIterator[str]:
    before = ""
    while not await request.is_disconnected():
        now = await run_in_threadpool(lambda: page(here, who, name, told(), live=True))
        yield f"data: {json.dumps(now)}\n\n" if now != before else ": still here\n\n"
        before = now
        await asyncio.sleep(EVERY)
