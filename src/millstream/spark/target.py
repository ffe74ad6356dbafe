"""Where a query keeps its progress, and under which names its sinks write."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.nodes import Sink
from millstream.storage import CheckpointFolder


@dataclass(frozen=True)
class Target:
    job: str
    folder: CheckpointFolder
    identity: str
    run: str
    """A name of this run, of all its starts."""

    def writer(self, sink: Sink) -> str:
        return f"{self.job}.{sink.name}.{self.identity}"
