"""Looks into a job's file before anything is kept of it: `python -m millstream.manager.inspection FILE`.

In a process of its own: the file is somebody's code, and may do anything.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from millstream.errors import Location, MillstreamError
from millstream.manager.records import Spec
from millstream.manager.surroundings import surroundings

PATIENCE = 120
MARK = "millstream-inspection:"
TOLD = ("checkpoint", "parallelism", "master", "deploy_mode", "mode", "every", "conf", "shared_disk")
"""What of how a job is to run can be wrong."""


def inspected(file: Path, spec: Spec) -> dict[str, Any]:
    """Its name, its plan as a graph, and what `explain` says; or the error that it runs into."""
    told = {part: getattr(spec, part) for part in TOLD}
    command = [sys.executable, "-m", "millstream.manager.inspection", str(file), json.dumps(told)]
    folder = spec.folder
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=folder or None,
            env=surroundings(file.parent),
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise MillstreamError(
            "MS-MANAGER-007",
            f"{file.name} does not come to an end.",
            found=f"it was executed for {PATIENCE} s",
            hint="a job's file declares it, and ends",
        ) from None
    except OSError as error:
        raise MillstreamError("MS-MANAGER-008", f"there is no folder {folder} to work in.", found=str(error)) from None
    line = next((line for line in done.stdout.splitlines() if line.startswith(MARK)), None)
    if line is None:
        raise MillstreamError(
            "MS-MANAGER-007",
            f"{file.name} ended the process that looked into it.",
            found=(done.stderr.strip().splitlines() or ["it said nothing"])[-1][:500],
        )
    found: dict[str, Any] = json.loads(as_sent(line.removeprefix(MARK), file.parent, folder))
    if "error" in found:
        raise error_of(found["error"])
    return found


def as_sent(text: str, files: Path, folder: str | None) -> str:
    """Names the job's files as their author does, not by where the manager keeps them."""
    relative = os.path.relpath(files, folder or ".")
    return text.replace(f"{files}/", "").replace(f"{relative}/", "")


def error_of(told: dict[str, Any]) -> MillstreamError:
    at = None
    if told["at"]:
        file, _, line = told["at"].rpartition(":")
        at = Location(file, int(line))
    return MillstreamError(told["code"], told["message"], at=at, found=told["found"], hint=told["hint"])


def look(file: Path, told: dict[str, Any]) -> dict[str, Any]:
    from millstream.api.command import Command
    from millstream.cli.jobfile import execute, the_job
    from millstream.manager.room import refuse_driver_there, room_for
    from millstream.reports.figures import failure
    from millstream.reports.graph import graph

    command = Command(checkpoint=told["checkpoint"], parallelism=told["parallelism"], explain=True)
    try:
        execute(file, command)
        job = command.reached or the_job(file, command)
        refuse_driver_there(job, told)
        note = room_for(job, told, command.reached_in)
        found = {"name": job.name, "checkpoint": job.checkpoint, "explain": job.explain(), "note": note}
        return {**found, **graph(job.plan())}
    except MillstreamError as error:
        return {"error": failure(error, False)}


if __name__ == "__main__":
    print(MARK + json.dumps(look(Path(sys.argv[1]), json.loads(sys.argv[2]))), flush=True)
