"""The manager's folder: records, job files, runs' reports. With several managers, on storage that they share."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from millstream.errors import MillstreamError
from millstream.reports.folder import RunFolder

NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


class Home:
    """`jobs/NAME/versions/N` has a job's files, `jobs/NAME/runs/N` what a run reports,
    `jobs/NAME/operations/ID/N` a task of an operation."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.records = self.path / "records.db"
        self.tokens = self.path / "tokens.json"
        self.token = self.path / "token"
        self.secret = self.path / "secret"
        self.audit = self.path / "audit.jsonl"
        self.address = self.path / "address"

    def make(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            (self.path / "jobs").mkdir(exist_ok=True)
            (self.path / "received").mkdir(exist_ok=True)
        except OSError as error:
            raise MillstreamError(
                "MS-MANAGER-002",
                f"the manager cannot keep anything in {self.path}.",
                found=str(error),
                hint="name another folder: --home",
            ) from error

    def job(self, name: str) -> Path:
        if NAME.fullmatch(name) is None:
            raise MillstreamError(
                "MS-MANAGER-001", f"a job cannot be called {name!r}.", hint="letters, digits, _ and -"
            )
        return self.path / "jobs" / name

    def version(self, name: str, version: int) -> Path:
        return self.job(name) / "versions" / str(version)

    def run(self, name: str, number: int) -> RunFolder:
        return RunFolder(self.job(name) / "runs" / str(number))

    def task(self, name: str, operation: str, number: int) -> RunFolder:
        return RunFolder(self.job(name) / "operations" / operation / str(number))


def private(file: Path, text: str) -> None:
    """Written whole, for its owner's eyes."""
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
        opened.write(text)
    os.replace(new, file)


def read_json(file: Path, otherwise: Any) -> Any:
    return json.loads(file.read_text()) if file.exists() else otherwise
