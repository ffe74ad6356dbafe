"""Logs, and what is live: server-sent events."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool

from millstream.manager.rest.errors import PROBLEMS
from millstream.manager.rest.jobs import Here, Name
from millstream.manager.service import Member, Service
from millstream.manager.views import view

router = APIRouter(prefix="/api/v1", responses=PROBLEMS)
EVERY = 1.0
BLOCK = 65_536
EVENTS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}}}
Run = Annotated[int | None, Query(ge=1, le=1_000_000)]


def log_of(here: Service, name: str, run: int | None) -> Path:
    job = here.registry.job(name)
    return here.home.run(name, run or job.number).log


@router.get("/jobs/{name}/logs", response_model=None, responses={200: {"content": {"text/plain": {}}}})
def logs(
    here: Here, name: Name, run: Run = None, lines: Annotated[int, Query(ge=1, le=100_000)] = 1_000
) -> PlainTextResponse:
    """The last lines that a run's driver wrote; without a number, its last run."""
    return PlainTextResponse(tail(log_of(here, name, run), lines))


def tail(file: Path, lines: int) -> str:
    if not file.exists():
        return ""
    with file.open("rb") as source:
        at = source.seek(0, os.SEEK_END)
        found = b""
        while at > 0 and found.count(b"\n") <= lines:
            size = min(BLOCK, at)
            at -= size
            source.seek(at)
            found = source.read(size) + found
    return "".join(line + "\n" for line in found.decode(errors="replace").splitlines()[-lines:])


@router.get("/jobs/{name}/logs/follow", response_model=None, responses=EVENTS)
def follow(request: Request, here: Here, name: Name, run: Run = None) -> StreamingResponse:
    """What the driver writes from now on, as server-sent events of lines."""
    return StreamingResponse(lines_of(request, log_of(here, name, run)), media_type="text/event-stream")


async def lines_of(request: Request, file: Path) -> AsyncIterator[str]:
    at = file.stat().st_size if file.exists() else 0
    while not await request.is_disconnected():
        new = await run_in_threadpool(after, file, at)
        if new:
            at += len(new)
            for line in new.decode(errors="replace").splitlines():
                yield f"data: {line}\n\n"
        else:
            yield ": still here\n\n"
            await asyncio.sleep(EVERY)


def after(file: Path, at: int) -> bytes:
    """Whole lines that came behind a place."""
    if not file.exists():
        return b""
    with file.open("rb") as source:
        source.seek(at)
        return source.read(BLOCK).rpartition(b"\n")[0:2][0] + b"\n" if has_line(file, at) else b""


def has_line(file: Path, at: int) -> bool:
    with file.open("rb") as source:
        source.seek(at)
        return b"\n" in source.read(BLOCK)


@router.get("/events", response_model=None, responses=EVENTS)
def events(request: Request, here: Here) -> StreamingResponse:
    """How all jobs are, whenever one of them has changed: server-sent events of `GET /jobs`' items."""
    return StreamingResponse(changes(request, here), media_type="text/event-stream")


async def changes(request: Request, here: Service) -> AsyncIterator[str]:
    told: dict[str, dict[str, Any]] = {}
    while not await request.is_disconnected():
        now = await run_in_threadpool(lambda: [asdict(view(job, here.home)) for job in here.registry.jobs()])
        new = [each for each in now if told.get(each["name"]) != each]
        told = {each["name"]: each for each in now}
        yield f"event: jobs\ndata: {json.dumps(new)}\n\n" if new else ": still here\n\n"
        await asyncio.sleep(EVERY)


@router.get("/cluster")
def cluster(here: Here) -> list[Member]:
    """The managers, and which of them leads."""
    return here.members()
