"""Errors as JSON: the same code, place, finding and hint that a terminal shows. Flink's tools are told in their way."""

from __future__ import annotations

import json
from dataclasses import dataclass

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response

from millstream.errors import MillstreamError
from millstream.manager.documents import Changed, NotLeading
from millstream.manager.guard import Refused
from millstream.manager.states import IllegalMove

STATUS = {
    **dict.fromkeys(("MS-MANAGER-009", "MS-MANAGER-012", "MS-MANAGER-014"), 409),
    "MS-MANAGER-001": 404,
    "MS-MANAGER-005": 413,
}
"""Otherwise 422: what was sent is wrong."""


@dataclass(frozen=True)
class Problem:
    code: str
    message: str
    at: str | None = None
    found: str | None = None
    hint: str | None = None


PROBLEMS: dict[int | str, dict[str, object]] = {
    401: {"model": Problem, "description": "No token, or one that is not known."},
    403: {"model": Problem, "description": "The token's role does not allow it."},
    404: {"model": Problem, "description": "There is no such thing."},
    409: {"model": Problem, "description": "The job is in another state."},
    413: {"model": Problem, "description": "Too large."},
    422: {"model": Problem, "description": "What was sent is wrong."},
    503: {"model": Problem, "description": "No manager leads now; ask again."},
}


def answer(status: int, code: str, message: str, found: str | None = None) -> Response:
    return JSONResponse({"code": code, "message": message, "at": None, "found": found, "hint": None}, status)


def explain(request: Request, error: Exception) -> Response:
    told = explained(error)
    if not request.url.path.startswith("/v1/"):
        return told
    found = json.loads(bytes(told.body))
    more = f" Found: {found['found']}" if found["found"] else ""
    return JSONResponse({"errors": [f"{found['code']}: {found['message']}{more}"]}, told.status_code)


def explained(error: Exception) -> Response:
    if isinstance(error, MillstreamError):
        at = None if error.at is None else str(error.at)
        told = {"code": error.code, "message": error.message, "at": at, "found": error.found, "hint": error.hint}
        return JSONResponse(told, STATUS.get(error.code, 422))
    if isinstance(error, Refused):
        return answer(error.status, error.code, error.message)
    if isinstance(error, NotLeading):
        return answer(503, "MS-MANAGER-503", "no manager leads now; ask again.")
    if isinstance(error, RequestValidationError):
        wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        return answer(422, "MS-MANAGER-422", "the request is wrong.", wrong[:1000])
    return answer(409, "MS-MANAGER-409", "somebody else changed the job at the same moment; ask again.", str(error))


def install(app: FastAPI) -> None:
    for kind in (MillstreamError, Refused, NotLeading, RequestValidationError, Changed, IllegalMove):
        app.add_exception_handler(kind, explain)
