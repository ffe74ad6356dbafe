"""Folders of files as a source."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from millstream.connectors.files.errors import ERRORS
from millstream.connectors.files.read import refuse_changed
from millstream.connectors.files.sink import FileFormat
from millstream.errors import MillstreamError
from millstream.plan.connectors import Errors, Format, OnError, Reader, SinkOptions
from millstream.plan.errors import here
from millstream.storage import CheckpointFolder, for_hadoop


@dataclass(frozen=True)
class FileSource:
    """Files that arrive in a folder. Each is read once, whole: put it there by a rename."""

    path: str
    files: FileFormat
    header: bool = False
    changelog: bool = False
    on_error: OnError = "fail"
    dead_letters: SinkOptions | None = None
    max_files_per_epoch: int | None = None

    @property
    def system(self) -> str:
        return "files"

    @property
    def label(self) -> str:
        return Path(self.path).name

    @property
    def format(self) -> Format:
        return self.files

    @property
    def without_order(self) -> str:
        return "files"

    @property
    def real_time(self) -> bool:
        return False

    @property
    def errors(self) -> Errors:
        return ERRORS

    def check_read(self, folder: CheckpointFolder, place: int) -> None:
        refuse_changed(folder, place)

    def partitions(self) -> int:
        """One: each epoch has as many tasks as it reads files, never a fixed number."""
        if "://" not in self.path and not Path(self.path).is_dir():
            raise MillstreamError(
                "MS-FILES-001", f"the folder {self.path} does not exist.", at=here(), hint="make it, or name another"
            )
        return 1

    def reader(self) -> Reader:
        # Spark would silently skip files that are a week older than the newest one.
        options = {"path": for_hadoop(self.path), "maxFileAge": "36500d"}
        if self.max_files_per_epoch is not None:
            options["maxFilesPerTrigger"] = str(self.max_files_per_epoch)
        if self.files == "json":
            return Reader("text", tuple(options.items()), "lines")
        if self.files == "csv":
            options |= {"header": str(self.header).lower(), "mode": "FAILFAST", "enforceSchema": "false"}
        return Reader(self.files, tuple(options.items()), "rows", "_metadata.file_modification_time")
