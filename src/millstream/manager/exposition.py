"""The manager's figures, and those of all jobs, as Prometheus reads them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pydantic import TypeAdapter

from millstream.manager.records import JobRecord
from millstream.manager.service import Service
from millstream.manager.states import JobState
from millstream.manager.views import JobView, view
from millstream.metrics.model import Metrics
from millstream.metrics.prometheus import CONTENT_TYPE, Family, text

__all__ = ["CONTENT_TYPE", "exposition"]
FIGURES = TypeAdapter(Metrics)


def exposition(service: Service) -> str:
    jobs = service.registry.jobs()
    runs = [found for job in jobs if (found := figures(service, job)) is not None]
    return text(*runs, others=[*of_manager(service, jobs), *of_jobs([view(job, service.home) for job in jobs])])


def figures(service: Service, job: JobRecord) -> Metrics | None:
    """What a job's run last reported. Of a job at rest nothing is up."""
    status = service.home.run(job.name, job.number).status()
    if not status or "metrics" not in status:
        return None
    found: Metrics = FIGURES.validate_python(status["metrics"])
    return found if job.state is JobState.RUNNING else replace(found, state=str(job.state))


def of_manager(service: Service, jobs: list[JobRecord]) -> list[Family]:
    states = Counter(job.state for job in jobs)
    leads = service.leader_url() == service.options.url
    return [
        Family(
            "millstream_manager_jobs",
            "gauge",
            "Jobs by state.",
            tuple(({"state": str(state)}, float(states[state])) for state in JobState),
        ),
        Family("millstream_manager_leads", "gauge", "1 if this manager leads.", (({}, float(leads)),)),
        Family(
            "millstream_manager_rounds_total",
            "counter",
            "Times that it has looked after all jobs.",
            (({}, float(service.supervisor.rounds)),),
        ),
    ]


def of_jobs(shown: list[JobView]) -> list[Family]:
    def family(name: str, help: str, *values: float | None) -> Family:
        labels = [{"job_name": each.name} for each in shown]
        return Family(f"millstream_job_{name}", "gauge", help, tuple(zip(labels, values, strict=True)))

    return [
        family("healthy", "1 if a job runs and nothing holds it back.", *(each.health == "healthy" for each in shown)),
        family(
            "behind_seconds",
            "How far behind now its sinks are.",
            *(None if each.behind_ms is None else each.behind_ms / 1000 for each in shown),
        ),
        family("driver_restarts", "How often a job was started again.", *(each.restarts for each in shown)),
    ]
