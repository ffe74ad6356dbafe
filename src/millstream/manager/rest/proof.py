"""The last certificate of `millstream verify` for a job, for its page."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from pydantic.dataclasses import dataclass as checked

from millstream.errors import MillstreamError
from millstream.manager.home import read_json
from millstream.manager.records import JobRecord, now_ms
from millstream.manager.rest.errors import PROBLEMS
from millstream.manager.rest.jobs import Here, Name, Who
from millstream.manager.service import Service
from millstream.reports.folder import replace as write

router = APIRouter(prefix="/api/v1", responses=PROBLEMS)
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]


@checked(frozen=True)
class CertificateSent:
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """Of the job's file."""
    mode: Annotated[str, Field(max_length=50)]
    faults: Count
    points: Count
    """Places at which it was killed."""
    lost: Count
    duplicated: Count
    good: bool
    text: Annotated[str, Field(max_length=200_000)]


@dataclass(frozen=True)
class Certificate:
    at: int
    by: str
    current: bool
    """Whether it is of the file that the job has now."""
    sha256: str
    mode: str
    faults: int
    points: int
    lost: int
    duplicated: int
    good: bool
    text: str


@router.put("/jobs/{name}/certificate")
def publish(here: Here, who: Who, name: Name, sent: CertificateSent) -> Certificate:
    """Keeps it in the place of the one before."""
    job = here.registry.job(name)
    write(here.home.job(name) / "certificate.json", {**asdict(sent), "at": now_ms(), "by": who.name})
    here.audit.note(who.name, "certificate", name, "good" if sent.good else "not good")
    found = certificate_of(here, job)
    assert found is not None
    return found


@router.get("/jobs/{name}/certificate")
def certificate(here: Here, name: Name) -> Certificate:
    """What `millstream verify --publish` last found."""
    found = certificate_of(here, here.registry.job(name))
    if found is None:
        raise MillstreamError("MS-MANAGER-001", f'job "{name}" has no certificate.', hint="millstream verify --publish")
    return found


def certificate_of(here: Service, job: JobRecord) -> Certificate | None:
    told: dict[str, Any] | None = read_json(here.home.job(job.name) / "certificate.json", None)
    if told is None:
        return None
    file = here.home.version(job.name, job.version) / job.file
    now = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
    return Certificate(**told, current=told["sha256"] == now)
