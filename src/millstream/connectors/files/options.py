"""What users say of a folder of files that a job reads or writes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from millstream.connectors.journal.options import absolute
from millstream.errors import MillstreamError, did_you_mean
from millstream.plan.connectors import Format, OnError, Reader, SinkOptions, WriteMode
from millstream.plan.errors import here

FileFormat = Literal["json", "csv", "parquet"]
FORMATS: tuple[FileFormat, ...] = ("json", "csv", "parquet")


@dataclass(frozen=True)
class FileSource:
    """Files that come to lie in a folder. Each is read once, whole: put it there by a rename."""

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
    def real_time(self) -> bool:
        return False

    def partitions(self) -> int:
        """One: as many tasks as there are files read at a time, but never fixed ones."""
        if "://" not in self.path and not Path(self.path).is_dir():
            raise MillstreamError(
                "MS-FILES-001", f"the folder {self.path} does not exist.", at=here(), hint="make it, or name another"
            )
        return 1

    def reader(self) -> Reader:
        # Spark would pass over files, without a word, that are a week older than the newest one.
        options = {"path": self.path, "maxFileAge": "36500d"}
        if self.max_files_per_epoch is not None:
            options["maxFilesPerTrigger"] = str(self.max_files_per_epoch)
        if self.files == "json":
            return Reader("text", tuple(options.items()), "lines")
        if self.files == "csv":
            options |= {"header": str(self.header).lower(), "mode": "FAILFAST", "enforceSchema": "false"}
        return Reader(self.files, tuple(options.items()), "rows", "_metadata.file_modification_time")


@dataclass(frozen=True)
class FileSink:
    """Files in a folder per epoch, which appears at once when the epoch is committed."""

    path: str
    files: FileFormat
    header: bool = False
    changelog: bool = False
    partition_by: tuple[str, ...] = ()
    key: tuple[str, ...] = ()

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
            "path": self.path,
            "format": self.files,
            "partition_by": json.dumps(list(self.partition_by)),
            **({"header": "true"} if self.header else {}),
        }


def source(
    path: str,
    *,
    format: FileFormat,
    header: bool = False,
    changelog: bool = False,
    on_error: OnError | None = None,
    dead_letters: SinkOptions | None = None,
    max_files_per_epoch: int | None = None,
) -> FileSource:
    """Reads the files of a folder, and those that are put there later.

    `header`: whether each CSV file begins with the names of its columns. `changelog`: each row has an `op`, insert or
    delete. `on_error`, for lines of JSON that cannot be read: `fail`, `skip`, or `dead_letter`, which
    `dead_letters=` a sink implies. A CSV or Parquet file that does not fit fails.
    """
    checked_format(format)
    policy = on_error or ("dead_letter" if dead_letters else "fail")
    if policy != "fail" and format != "json":
        raise wrong(f"on_error={policy!r} is for JSON files.", "leave it out: a file that does not fit fails the job")
    if header and format != "csv":
        raise wrong(f"header is for CSV files, and these are {format}.", "leave it out")
    if max_files_per_epoch is not None and max_files_per_epoch < 1:
        raise wrong(f"max_files_per_epoch is {max_files_per_epoch}.", "give a number above 0, or leave it out")
    return FileSource(absolute(path), format, header, changelog, policy, dead_letters, max_files_per_epoch)


def sink(
    path: str,
    *,
    format: FileFormat,
    header: bool = False,
    changelog: bool = False,
    partition_by: str | tuple[str, ...] = (),
) -> FileSink:
    """Writes files: a stream as it is, or, with `changelog`, every change of a table as a row with an `op`.

    `partition_by`: columns that name folders, `day=2026-01-01/`, instead of being written into the files.
    """
    checked_format(format)
    if header and format != "csv":
        raise wrong(f"header is for CSV files, and these are {format}.", "leave it out")
    parted = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
    return FileSink(absolute(path), format, header, changelog, parted)


def checked_format(format: str) -> None:
    if format not in FORMATS:
        found = "one of: " + ", ".join(FORMATS)
        hint = did_you_mean(str(format), FORMATS)
        raise MillstreamError("MS-FILES-002", f"format cannot be {format!r}.", at=here(), found=found, hint=hint)


def wrong(message: str, hint: str) -> MillstreamError:
    return MillstreamError("MS-FILES-002", message, at=here(), hint=hint)
