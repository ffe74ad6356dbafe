"""What Flink's own tools ask a JobManager, answered by this manager: `flink list`, `stop`, `savepoint`, `cancel`, and
boards made for Flink. Served under `/v1` if the manager is told so.

A job's id there is a digest of its name; the number of an operation is its id, filled up with zeros.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query
from fastapi.responses import JSONResponse, Response

from millstream.errors import MillstreamError
from millstream.manager.records import Asked, JobRecord, Operation, SavepointRecord
from millstream.manager.rest.jobs import Here, Who, plan_of
from millstream.manager.rest.operations import checkpoints, noted
from millstream.manager.service import Service, version
from millstream.manager.states import JobState

router = APIRouter(prefix="/v1", include_in_schema=False)
Jid = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
STATES = {
    JobState.CREATED: "CREATED",
    JobState.STARTING: "INITIALIZING",
    JobState.RUNNING: "RUNNING",
    JobState.RESTARTING: "RESTARTING",
    JobState.STOPPING: "CANCELLING",
    JobState.FINISHED: "FINISHED",
    JobState.FAILED: "FAILED",
    JobState.CANCELLED: "CANCELED",
    JobState.SUSPENDED: "SUSPENDED",
}
TASK_STATES = (
    *("created", "scheduled", "deploying", "initializing", "running"),
    *("finished", "canceling", "canceled", "failed", "reconciling"),
)
ID = 12
"""The digits of an operation's id."""
LIKE = "2.3"
"""The version of Flink whose answers these are."""


@dataclass(frozen=True)
class Wish:
    """The body of a request for a savepoint, in both spellings that Flink has."""

    target: str | None = None
    cancel: bool = False

    @classmethod
    def read(cls, body: dict[str, Any] | None) -> Wish:
        told = body or {}
        target = told.get("target-directory") or told.get("targetDirectory")
        return cls(str(target) if target else None, told.get("cancel-job") is True)

    def asked(self, job: str) -> Asked:
        """Flink is told a folder for savepoints, in which each has a name of its own."""
        place = f"{self.target.rstrip('/')}/savepoint-{job}-{time.time_ns():x}" if self.target else None
        return Asked(savepoint=place)


def jid(name: str) -> str:
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()


def job_of(here: Service, wanted: str) -> JobRecord:
    found = next((job for job in here.registry.jobs() if jid(job.name) == wanted), None)
    if found is None:
        raise MillstreamError("MS-MANAGER-001", f"there is no job with the id {wanted}.")
    return found


@router.get("/config")
def config() -> dict[str, Any]:
    features = {"web-submit": False, "web-cancel": True, "web-rescale": False, "web-history": False}
    zone = {"timezone-name": "UTC", "timezone-offset": 0}
    return {"refresh-interval": 3000, **zone, "flink-version": LIKE, "flink-revision": version(), "features": features}


@router.get("/overview")
def overview(here: Here) -> dict[str, Any]:
    jobs = here.registry.jobs()
    counts = {state: sum(job.state is state for job in jobs) for state in JobState}
    return {
        "taskmanagers": sum(not job.at_rest for job in jobs),
        "slots-total": 0,
        "slots-available": 0,
        "jobs-running": sum(not job.at_rest for job in jobs),
        "jobs-finished": counts[JobState.FINISHED] + counts[JobState.SUSPENDED],
        "jobs-cancelled": counts[JobState.CANCELLED],
        "jobs-failed": counts[JobState.FAILED],
        "flink-version": LIKE,
        "flink-commit": version(),
    }


@router.get("/jobs")
def jobs(here: Here) -> dict[str, Any]:
    return {"jobs": [{"id": jid(job.name), "status": STATES[job.state]} for job in here.registry.jobs()]}


@router.get("/jobs/overview")
def jobs_overview(here: Here) -> dict[str, Any]:
    return {"jobs": [in_short(here, job) for job in here.registry.jobs()]}


def in_short(here: Service, job: JobRecord) -> dict[str, Any]:
    boxes = len(plan_of(here, job)["boxes"])
    state = "running" if job.state is JobState.RUNNING else "created"
    tasks = {**dict.fromkeys(TASK_STATES, 0), "total": boxes, state: boxes}
    return {
        "jid": jid(job.name),
        "name": job.name,
        "state": STATES[job.state],
        **times(job),
        "last-modification": job.since,
        "tasks": tasks,
        "jobType": "STREAMING",
        "schedulerType": "Default",
        "pending-operators": 0,
    }


def times(job: JobRecord) -> dict[str, int]:
    begun = job.run.started_at if job.run else job.created_at
    ended = job.since if job.at_rest and job.run else -1
    now = round(time.time() * 1000)
    return {"start-time": begun, "end-time": ended, "duration": (ended if ended >= 0 else now) - begun}


@router.get("/jobs/{id}")
def job(here: Here, id: Jid) -> dict[str, Any]:
    found = job_of(here, id)
    plan = plan_of(here, found)
    vertices = [vertex(found, box) for box in plan["boxes"]]
    short = in_short(here, found)
    return {
        **{name: short[name] for name in ("jid", "name", "state", "start-time", "end-time", "duration")},
        "isStoppable": True,
        "job-type": "STREAMING",
        "schedulerType": "Default",
        "maxParallelism": -1,
        "now": round(time.time() * 1000),
        "timestamps": {state: moved(found, state) for state in STATES.values()},
        "vertices": vertices,
        "status-counts": {state.upper(): short["tasks"][state] for state in TASK_STATES},
        "plan": {"jid": id, "name": found.name, "type": "STREAMING", "nodes": nodes(plan)},
        "pending-operators": 0,
    }


def moved(job: JobRecord, state: str) -> int:
    return max((move.at for move in job.moves if STATES[move.after] == state), default=0)


def vertex(job: JobRecord, box: dict[str, Any]) -> dict[str, Any]:
    status = "RUNNING" if job.state is JobState.RUNNING else "CREATED"
    return {
        "id": jid(box["id"]),
        "name": f"{box['name']}: {box['what']}",
        "maxParallelism": -1,
        "parallelism": job.spec.parallelism or 1,
        "status": status,
        **times(job),
        "tasks": {state.upper(): int(state.upper() == status) for state in TASK_STATES},
        "metrics": {},
    }


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "id": jid(box["id"]),
            "parallelism": 1,
            "operator": box["kind"],
            "description": box["name"],
            "inputs": [
                {"num": number, "id": jid(edge["from"]), "ship_strategy": "HASH", "exchange": "pipelined_bounded"}
                for number, edge in enumerate(edge for edge in plan["edges"] if edge["to"] == box["id"])
            ],
        }
        for box in plan["boxes"]
    ]


@router.get("/jobs/{id}/status")
def status(here: Here, id: Jid) -> dict[str, str]:
    return {"status": STATES[job_of(here, id).state]}


@router.get("/jobs/{id}/exceptions")
def exceptions(here: Here, id: Jid) -> dict[str, Any]:
    failures = list(reversed(job_of(here, id).failures))
    entries = [
        {"exceptionName": each.code, "stacktrace": f"{each.code}: {each.message}", "timestamp": each.at}
        | {"taskName": each.place, "endpoint": None, "taskManagerId": None, "failureLabels": {}}
        | {"concurrentExceptions": []}
        for each in failures
    ]
    last = entries[0] if entries else None
    return {
        "root-exception": last["stacktrace"] if last else None,
        "timestamp": last["timestamp"] if last else None,
        "all-exceptions": [],
        "truncated": False,
        "exceptionHistory": {"entries": entries, "truncated": False},
    }


@router.get("/jobs/{id}/checkpoints")
def epochs(here: Here, id: Jid) -> dict[str, Any]:
    """An epoch is a checkpoint of Flink's."""
    found = job_of(here, id)
    history = [completed(one) for one in checkpoints(here, found.name, 100)]
    restored = None
    saved = [savepoint_of(one) for one in reversed(found.savepoints)]
    counts = {"restored": 0, "total": len(history), "in_progress": 0, "completed": len(history), "failed": 0}
    return {
        "counts": counts,
        "summary": {
            name: least_and_most([one[name] for one in history])
            for name in ("checkpointed_size", "state_size", "end_to_end_duration", "alignment_buffered")
        },
        "latest": {
            "completed": history[0] if history else None,
            "savepoint": saved[0] if saved else None,
            "failed": None,
            "restored": restored,
        },
        "history": sorted([*history, *saved], key=lambda one: -one["trigger_timestamp"]),
    }


def completed(one: dict[str, Any], kind: str = "CHECKPOINT", path: str = "") -> dict[str, Any]:
    size, took = one.get("bytes") or 0, one["duration_ms"]
    return {
        "className": "completed",
        "id": one["epoch"],
        "status": "COMPLETED",
        "is_savepoint": kind == "SAVEPOINT",
        "savepointFormat": "CANONICAL" if kind == "SAVEPOINT" else None,
        "trigger_timestamp": one["at"] - took,
        "latest_ack_timestamp": one["at"],
        "checkpointed_size": size,
        "state_size": size,
        "end_to_end_duration": took,
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": len(one.get("tasks", ())),
        "num_acknowledged_subtasks": len(one.get("tasks", ())),
        "checkpoint_type": kind,
        "tasks": {},
        "external_path": path,
        "discarded": not one.get("retained", True),
    }


def savepoint_of(one: SavepointRecord) -> dict[str, Any]:
    told = {"epoch": one.epoch, "bytes": one.bytes, "duration_ms": one.duration_ms, "at": one.at}
    return completed(told, "SAVEPOINT", one.path)


def least_and_most(values: list[int]) -> dict[str, int]:
    if not values:
        return {"min": 0, "max": 0, "avg": 0}
    return {"min": min(values), "max": max(values), "avg": round(sum(values) / len(values))}


@router.patch("/jobs/{id}")
def end(here: Here, who: Who, id: Jid, mode: Annotated[str, Query()] = "cancel") -> Response:
    """`mode=stop` is the old name of the same."""
    noted(here, who, "cancel", job_of(here, id).name)
    return JSONResponse({}, 202)


@router.post("/jobs/{id}/stop")
def stop(here: Here, who: Who, id: Jid, body: Annotated[dict[str, Any] | None, Body()] = None) -> Response:
    """With a savepoint, as Flink's stop is."""
    name, wish = job_of(here, id).name, Wish.read(body)
    return begun(noted(here, who, "stop", name, lambda: here.changes.stop(name, who.name, wish.asked(name))))


@router.post("/jobs/{id}/savepoints")
def savepoint(here: Here, who: Who, id: Jid, body: Annotated[dict[str, Any] | None, Body()] = None) -> Response:
    name, wish = job_of(here, id).name, Wish.read(body)
    change = here.changes.stop if wish.cancel else here.changes.savepoint
    return begun(noted(here, who, "savepoint", name, lambda: change(name, who.name, wish.asked(name))))


def begun(operation: Operation) -> Response:
    return JSONResponse({"request-id": operation.id.ljust(32, "0")}, 202)


@router.get("/jobs/{id}/savepoints/{trigger}")
def savepoint_status(here: Here, id: Jid, trigger: Jid) -> dict[str, Any]:
    found = job_of(here, id).operation(trigger[:ID])
    if found is None:
        raise MillstreamError("MS-MANAGER-001", f"there is no operation {trigger}.")
    if found.state == "running":
        return {"status": {"id": "IN_PROGRESS"}, "operation": None}
    if found.state == "failed":
        # Flink would send an exception of Java's, serialized; its clients show an error's text as well.
        raise MillstreamError("MS-MANAGER-013", f"{found.kind} failed: {found.detail}")
    return {"status": {"id": "COMPLETED"}, "operation": {"location": found.asked.savepoint, "failure-cause": None}}
