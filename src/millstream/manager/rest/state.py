"""What a job's steps have in state, by key; and rows on their way to sinks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from millstream.errors import MillstreamError
from millstream.manager.readers import Question
from millstream.manager.rest.errors import PROBLEMS
from millstream.manager.rest.jobs import Here, Name
from millstream.manager.rest.who import operator as operating
from millstream.manager.service import Service
from millstream.reports.folder import RunFolder, read


@dataclass(frozen=True)
class LiveRow:
    at: int
    """When it passed, in milliseconds since 1970."""
    weight: int
    """Less than zero: the row is taken back."""
    row: str
    """As JSON, or the beginning of that if it is long."""


router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=[Depends(operating)])
Step = Annotated[str | None, Query(max_length=300)]
Keys = Annotated[list[str] | None, Query(max_length=20)]
Epoch = Annotated[int | None, Query(ge=0, le=1_000_000_000)]
Rows = Annotated[int, Query(ge=1, le=1_000)]


@router.get("/jobs/{name}/state")
def state(
    here: Here,
    name: Name,
    operator: Step = None,
    key: Keys = None,
    at: Epoch = None,
    limit: Rows = 50,
) -> dict[str, Any]:
    """Typed rows of a step, or of a key (`VALUE` or `COLUMN=VALUE`), after the last epoch or one that is kept.

    Without either: which steps have state, and how many rows. The first answer takes as long as Spark takes to start.
    """
    return here.readers.ask(here.registry.job(name), Question(operator or None, tuple(key or ()), at, limit))


@router.get("/jobs/{name}/rows")
def rows(here: Here, name: Name, limit: Rows = 50) -> dict[str, Any]:
    """A sample of what sinks were given in a recent epoch, which is run again in a sandbox. Off unless the manager was
    started with `--show-rows`."""
    job = here.registry.job(name)
    refuse_hidden(here)
    return here.readers.rows(job, limit)


@router.get("/jobs/{name}/rows/live")
def live(here: Here, name: Name) -> dict[str, list[LiveRow]]:
    """A few of the rows that passed lately, oldest first, by box of the job's graph: what a source has read, what an
    operator has sent on, what a sink was given. Off unless the manager was started with `--show-rows`."""
    job = here.registry.job(name)
    refuse_hidden(here)
    found = live_rows(here.home.run(name, job.number))
    return {box: [LiveRow(**row) for row in rows] for box, rows in found.items()}


def live_rows(folder: RunFolder) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = (read(folder.rows) or {}).get("rows", {})
    return found


def refuse_hidden(here: Service) -> None:
    if not here.options.rows:
        raise MillstreamError(
            "MS-MANAGER-019",
            "this manager does not show rows.",
            hint="start it with --show-rows, if people may see them",
        )
