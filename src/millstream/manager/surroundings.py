"""The environment of the processes that a manager starts for a job."""

from __future__ import annotations

import os
from pathlib import Path

PRIVATE = ("MILLSTREAM_TOKEN",)
"""What of the manager's own surroundings no job is to see."""


def surroundings(files: Path) -> dict[str, str]:
    """The environment of a driver: the manager's, what came with the job, and its own packages."""
    own = {name: value for name, value in os.environ.items() if name not in PRIVATE}
    given = read_env(files / "env")
    packages = files / "packages"
    paths = [str(packages)] if packages.is_dir() else []
    paths += [own["PYTHONPATH"]] if own.get("PYTHONPATH") else []
    return {**own, **given, **({"PYTHONPATH": os.pathsep.join(paths)} if paths else {}), "PYTHONUNBUFFERED": "1"}


def read_env(file: Path) -> dict[str, str]:
    """Lines of NAME=VALUE; empty ones and those that begin with # say nothing."""
    if not file.exists():
        return {}
    lines = (line.strip() for line in file.read_text().splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}
