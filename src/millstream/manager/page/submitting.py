"""Submitting a job from the page: one file."""

from __future__ import annotations

import io
import tarfile
from typing import Annotated

from fastapi import APIRouter, File, Form, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from millstream.errors import MillstreamError
from millstream.manager.actions import Submission
from millstream.manager.page.routes import page
from millstream.manager.records import Spec
from millstream.manager.rest.jobs import Here, Who

router = APIRouter(include_in_schema=False)
MODES = ("batch", "micro-batch", "available-now", "real-time")
NAME = "job.py"
Word = Annotated[str, Form(max_length=300)]


@router.get("/submit", response_class=HTMLResponse)
def form(here: Here, who: Who) -> str:
    return page(here, who, "submit", {"modes": MODES, "problem": None})


@router.post("/submit")
def submit(
    here: Here,
    who: Who,
    file: Annotated[UploadFile, File()],
    mode: Word = "",
    every: Word = "",
    restarts: Word = "exponential",
    folder: Word = "",
) -> Response:
    spec = Spec(mode=mode or None, every=every or None, restarts=restarts, folder=folder or None)
    outcome = "refused"
    try:
        job = here.actions.submit(Submission(packed(file.file.read()), NAME, spec, by=who.name))
        outcome = f"version {job.version}"
        return RedirectResponse(f"/jobs/{job.name}", 303)
    except MillstreamError as error:
        return HTMLResponse(page(here, who, "submit", {"modes": MODES, "problem": error}), 422)
    finally:
        here.audit.note(who.name, "submit", file.filename, outcome)


def packed(content: bytes) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        told = tarfile.TarInfo(NAME)
        told.size = len(content)
        tar.addfile(told, io.BytesIO(content))
    return archive.getvalue()
