"""Starts a run that is watched: on a terminal, or by Prometheus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from millstream.metrics.display import Display
from millstream.metrics.server import Server
from millstream.plan.restarts import Restarts
from millstream.planner.stages import JobPlan
from millstream.runtime.run import Run
from millstream.runtime.setting import Setting


class Observer(Protocol):
    """Shows what a run does."""

    def look(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Watching:
    """`progress`: show it on stderr. `port`: serve its figures to Prometheus there; 0: on any port that is free."""

    progress: bool = False
    port: int | None = None


def begin(job: str, plan: JobPlan, setting: Setting, restarts: Restarts, watching: Watching) -> Run:
    # First: a port that is taken is known before anything runs.
    server = Server(watching.port) if watching.port is not None else None
    try:
        run = Run.begin(job, plan, setting, restarts)
    except BaseException:
        if server is not None:
            server.close()
        raise
    if server is not None:
        server.serve(run.metrics)
        run.metrics_url = server.url
        run.watch(server)
    if watching.progress and not run.over:
        run.watch(Display(run.metrics))
    return run
