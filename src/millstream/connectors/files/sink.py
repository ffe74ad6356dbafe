"""Folders of files as a sink."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from millstream.plan.connectors import Format, WriteMode
from millstream.storage import for_hadoop

FileFormat = Literal["json", "csv", "parquet"]


@dataclass(frozen=True)
class FileSink:
    """Files in a folder per epoch, which appears at once when the epoch is committed."""

    path: str
    files: FileFormat
    header: bool = False
    changelog: bool = False
    partition_by: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    nulls: bool = True

    @property
    def system(self) -> str:
        return "files"

    @property
    def label(self) -> str:
        return Path(self.path).name

    @property
    def modes(self) -> tuple[WriteMode, ...]:
        return ("changelog",) if self.changelog else ("append",)

    @property
    def format(self) -> Format:
        return self.files

    @property
    def guarantee(self) -> str:
        return "exactly once (two phases)"

    def check(self) -> None:
        """The folder is made when the first epoch is written."""

    def writer(self) -> dict[str, str]:
        return {
            "kind": "files",
            "path": for_hadoop(self.path),
            "format": self.files,
            "partition_by": json.dumps(list(self.partition_by)),
            **({"header": "true"} if self.header else {}),
        }
