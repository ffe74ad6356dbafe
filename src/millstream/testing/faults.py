"""Faults as values: `crash_before("commits", epoch=3)` kills a job's process there, as a power cut would."""

from __future__ import annotations

from dataclasses import dataclass

MANAGER = {"spark.sql.streaming.checkpointFileManagerClass": "millstream.faults.FaultyCheckpoints"}
"""The Spark setting under which the checkpoint's own files have places to fail at."""

POINTS = (
    "offsets.before",
    "offsets.after",
    "sink.write",
    "state.during",
    "state.before",
    "state.after",
    "sink.prepare.before",
    "sink.prepare.after",
    "decision.before",
    "decision.after",
    "commits.before",
    "commits.after",
    "sink.publish.before",
    "sink.publish.between",
    "sink.publish.after",
)
"""In the order in which an epoch meets them."""

BARRIER_POINTS = ("barrier.trigger", "barrier.aligned", "barrier.saved", "barrier.acked")
"""Those of a barrier that flows with the rows, in real time, before its epoch is prepared."""

REPAIR_POINTS = ("sink.repair.before", "sink.repair.after")
"""Places of a Kafka sink that writes again what the brokers have aborted."""

CARRY_POINTS = ("carry.before", "carry.during", "carry.after")
"""Those of a sink that Python carries committed epochs to (Postgres, Delta), which come after all others."""

RECEIVE_POINTS = (
    "receive.append.before",
    "receive.append.after",
    "receive.sync.after",
    "receive.acknowledge.after",
)
"""Those of a source that is received, for each bundle of messages. They are outside of epochs: theirs is 0."""


@dataclass(frozen=True)
class Fault:
    """A place, and the first epoch in which the process ends there."""

    point: str
    epoch: int | None = None

    def __post_init__(self) -> None:
        points = (*POINTS, *BARRIER_POINTS, *REPAIR_POINTS, *CARRY_POINTS, *RECEIVE_POINTS)
        if self.point not in points:
            raise ValueError(f"no fault point {self.point!r}; there are: {', '.join(points)}")

    def environment(self) -> dict[str, str]:
        """What the job's process must find in its environment."""
        return {"MILLSTREAM_FAULT": self.point if self.epoch is None else f"{self.point}@{self.epoch}"}


def crash_before(what: str, epoch: int | None = None) -> Fault:
    return Fault(f"{what}.before", epoch)


def crash_during(what: str, epoch: int | None = None) -> Fault:
    return Fault(f"{what}.during", epoch)


def crash_after(what: str, epoch: int | None = None) -> Fault:
    return Fault(f"{what}.after", epoch)
