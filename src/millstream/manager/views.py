"""How a job is, for people and programs: its record, and what its run last reported."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from millstream.manager.home import Home
from millstream.manager.records import FailureRecord, JobRecord, Operation
from millstream.manager.states import JobState
from millstream.reports.folder import newest

SAMPLES = 13
"""A minute of them: what rates are taken from."""
STALE_MS = 10_000


@dataclass(frozen=True)
class JobView:
    """One line of the list of jobs."""

    name: str
    state: JobState
    health: str
    """`healthy`, `held back`, `failing`, `starting` or `at rest`."""
    since: int
    version: int
    run: int
    restarts: int
    epoch: int | None = None
    epoch_at: int | None = None
    epoch_ms: int | None = None
    behind_ms: int | None = None
    """How far behind now its sinks are."""
    rate_in: float | None = None
    rate_out: float | None = None
    lag: int | None = None
    """Rows that are there, and not yet read."""
    clear_ms: int | None = None
    """How long until there are none, if it goes on like this; None: they do not get fewer."""
    state_bytes: int | None = None
    held_back_by: str | None = None
    reported_at: int | None = None
    trouble: FailureRecord | None = None
    """What it is failing of."""
    operation: Operation | None = None
    """What is being done to it."""


def view(job: JobRecord, home: Home) -> JobView:
    folder = home.run(job.name, job.number)
    status = folder.status() or {}
    figures: dict[str, Any] = status.get("metrics") or {}
    samples = newest(folder.samples, SAMPLES) if job.run else []
    last: dict[str, Any] = figures.get("last_epoch") or {}
    running = job.state is JobState.RUNNING
    lags = [part["lag"] for part in figures.get("sources", ()) if part["lag"] is not None]
    return JobView(
        name=job.name,
        state=job.state,
        health=health(job, figures),
        since=job.since,
        version=job.version,
        run=job.number,
        restarts=job.restarts,
        epoch=last.get("epoch"),
        epoch_at=last["started"] + last["duration_ms"] if last else None,
        epoch_ms=last.get("duration_ms"),
        behind_ms=status.get("behind_ms") if running else None,
        rate_in=rate(samples, "rows_in") if running else None,
        rate_out=rate(samples, "rows_out") if running else None,
        lag=sum(lags) if lags else None,
        clear_ms=clear_ms(samples) if running else None,
        state_bytes=sum(part["state_bytes"] for part in figures["stages"]) if last else None,
        held_back_by=figures.get("held_back_by"),
        reported_at=status.get("at"),
        trouble=job.failures[-1] if job.failures and failing(job) else None,
        operation=next((each for each in reversed(job.operations) if each.state == "running"), None),
    )


def failing(job: JobRecord) -> bool:
    return job.state in (JobState.FAILED, JobState.RESTARTING)


def health(job: JobRecord, figures: dict[str, Any]) -> str:
    if failing(job):
        return "failing"
    if job.at_rest:
        return "starting" if job.wanted else "at rest"
    if job.state is not JobState.RUNNING:
        return "starting" if job.state is JobState.STARTING else "at rest"
    return "held back" if waits_for(figures) else "healthy"


def waits_for(figures: dict[str, Any]) -> str | None:
    """The source that holds time back, where others are a minute or more ahead of it."""
    times = {part["name"]: part["watermark"] for part in figures.get("sources", ()) if part["watermark"]}
    held = figures.get("held_back_by")
    if held in times and max(times.values()) - times[held] >= 60_000:
        return str(held)
    return None


def rate(samples: list[dict[str, Any]], what: str) -> float | None:
    """By how much it grew in a second, over the last minute."""
    if len(samples) < 2:
        return None
    last, first = samples[0], samples[-1]
    seconds = (last["at"] - first["at"]) / 1000
    return max(0.0, (last[what] - first[what]) / seconds) if seconds > 0 else None


def clear_ms(samples: list[dict[str, Any]]) -> int | None:
    if len(samples) < 2 or samples[0]["lag"] is None or samples[-1]["lag"] is None:
        return None
    if not samples[0]["lag"]:
        return 0
    fell = (samples[-1]["lag"] - samples[0]["lag"]) / max(1, samples[0]["at"] - samples[-1]["at"])
    return round(samples[0]["lag"] / fell) if fell > 0 else None


def sentence(shown: JobView) -> str:
    """The answer first."""
    if shown.trouble is not None:
        again = "" if shown.state is JobState.FAILED else ", and is started again"
        return f"{shown.name} {'has failed' if not again else 'fails'}{again}: {shown.trouble.message}"
    if shown.health == "held back":
        return f"{shown.name} is held back by {shown.held_back_by}: its time is behind that of the other sources."
    if shown.state is not JobState.RUNNING:
        return f"{shown.name} is {shown.state}."
    if shown.epoch is None:
        return f"{shown.name} is running; its first epoch has yet to end."
    from millstream.metrics.text import span

    parts = [f"{shown.name} is healthy"]
    parts += [f"{span(shown.behind_ms)} behind"] if shown.behind_ms is not None else []
    parts += [f"{shown.rate_in:,.0f} rows/s"] if shown.rate_in is not None else []
    return ", ".join(parts) + "."


def stale(shown: JobView) -> bool:
    """Whether a job that should report does not."""
    running = shown.state is JobState.RUNNING
    return running and (shown.reported_at is None or time.time() * 1000 - shown.reported_at > STALE_MS)
