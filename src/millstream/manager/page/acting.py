"""What is done from the page: each form says what will happen, and is sent once."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Query, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from millstream.errors import MillstreamError
from millstream.manager.actions import Submission
from millstream.manager.page.routes import about_job, page
from millstream.manager.page.submitting import NAME, packed
from millstream.manager.records import Asked, Operation, Spec
from millstream.manager.rest.jobs import Here, Name, Who
from millstream.manager.rest.operations import noted
from millstream.manager.service import Service
from millstream.manager.tokens import Identity

router = APIRouter(include_in_schema=False)
Word = Annotated[str, Form(max_length=2000)]
Id = Annotated[str | None, Query(pattern="^[0-9a-f]{12}$")]


@router.get("/jobs/{name}/change", response_class=HTMLResponse)
def change(here: Here, who: Who, name: Name, operation: Id = None) -> str:
    return page(here, who, "change", about_job(here, name, "change", operation=operation))


@router.post("/jobs/{name}/change")
def compare(
    here: Here,
    who: Who,
    name: Name,
    file: Annotated[UploadFile, File()],
    was: Word = "",
    drop: Word = "",
    start_empty: Word = "",
) -> Response:
    """A new file, looked into and compared with the job's state. Nothing happens to the job."""
    try:
        asked = Asked(was=pairs(was), drop=words(drop), start_empty=words(start_empty))
        sent = Submission(packed(file.file.read()), NAME, Spec(), by=who.name, asked=asked)
        done = noted(here, who, "diff", name, lambda: here.changes.diff(name, sent))
    except MillstreamError as error:
        told = about_job(here, name, "change")
        return HTMLResponse(page(here, who, "change", {**told, "problem": error}), 422)
    return RedirectResponse(f"/jobs/{name}/change?operation={done.id}", 303)


def words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.replace(",", " ").split() if word)


def pairs(text: str) -> dict[str, str]:
    """`new=old`, one beside the other."""
    found = [word.partition("=") for word in words(text)]
    wrong = next((new for new, sign, old in found if not (new and sign and old)), None)
    if wrong is not None:
        raise MillstreamError("MS-MANAGER-422", f"{wrong!r} does not say which step was renamed.", hint="new=old")
    return {new: old for new, _, old in found}


@router.post("/jobs/{name}/{what}")
def act(
    here: Here,
    who: Who,
    name: Name,
    what: str,
    path: Word = "",
    savepoint: Word = "",
    parallelism: Annotated[int | None, Form()] = None,
    version: Annotated[int | None, Form()] = None,
) -> Response:
    form: dict[str, Any] = {"path": path, "savepoint": savepoint, "parallelism": parallelism, "version": version}
    try:
        done(here, who, name, what, form)
    except MillstreamError as error:
        told = about_job(here, name, "overview")
        return HTMLResponse(page(here, who, "overview", {**told, "problem": error}), 409)
    return RedirectResponse(f"/jobs/{name}", 303)


def done(here: Service, who: Identity, name: str, what: str, form: dict[str, Any]) -> Operation:
    changes, by = here.changes, who.name
    match what:
        case "stop" if form["savepoint"]:
            asked = Asked(savepoint=form["path"] or None)
            return noted(here, who, what, name, lambda: changes.stop(name, by, asked))
        case "start" | "stop" | "cancel":
            return noted(here, who, what, name)
        case "savepoint":
            asked = Asked(savepoint=form["path"] or None)
            return noted(here, who, what, name, lambda: changes.savepoint(name, by, asked))
        case "rescale":
            asked = Asked(parallelism=form["parallelism"])
            return noted(here, who, what, name, lambda: changes.rescale(name, by, asked))
        case "restore":
            asked = Asked(savepoint=form["savepoint"])
            return noted(here, who, what, name, lambda: changes.restore(name, by, asked))
        case "upgrade":
            sent = Submission(b"", NAME, Spec(), by=by, asked=Asked(version=form["version"] or 0))
            return noted(here, who, what, name, lambda: changes.upgrade(name, sent))
        case _:
            raise MillstreamError("MS-MANAGER-001", f"{what!r} cannot be done to a job.")
