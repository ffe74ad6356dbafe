"""All that helps to understand a job, in one archive: what is secret stays here."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict
from typing import Any

from millstream.manager.home import read_json
from millstream.manager.records import JobRecord
from millstream.manager.service import Service
from millstream.manager.views import view
from millstream.reports.folder import newest

HISTORY = 1_000
LOG_BYTES = 2_000_000
RUNS = 3


def bundle(here: Service, job: JobRecord) -> bytes:
    """`job`: without what is not to be shown."""
    packed = io.BytesIO()
    folder = here.home.run(job.name, job.number)
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, told in {
            "job": asdict(job),
            "status": asdict(view(job, here.home)),
            "report": folder.status(),
            "plan": read_json(here.home.version(job.name, job.version) / "plan.json", {}),
            "epochs": newest(folder.epochs, HISTORY),
            "samples": newest(folder.samples, HISTORY),
            "manager": here.about(),
        }.items():
            archive.writestr(f"{job.name}/{name}.json", text(told))
        for number in range(max(1, job.number - RUNS + 1), job.number + 1):
            archive.writestr(f"{job.name}/run-{number}.log", end(here, job.name, number))
    return packed.getvalue()


def text(told: Any) -> str:
    return json.dumps(told, indent=1, default=str)


def end(here: Service, name: str, number: int) -> bytes:
    file = here.home.run(name, number).log
    if not file.exists():
        return b""
    with file.open("rb") as log:
        log.seek(max(0, file.stat().st_size - LOG_BYTES))
        return log.read()
