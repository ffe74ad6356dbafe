"""Options for a folder of files that a job reads or writes."""

from __future__ import annotations

from millstream.connectors.files.errors import CHECKS
from millstream.connectors.files.sink import FileFormat, FileSink
from millstream.connectors.files.source import FileSource
from millstream.plan.connectors import OnError, SinkOptions
from millstream.plan.errors import here
from millstream.plan.options import columns
from millstream.storage import absolute, files_at

FORMATS: tuple[FileFormat, ...] = ("json", "csv", "parquet")


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
    """Reads the files in a folder, and those that are added later.

    `header`: whether each CSV file begins with the names of its columns. `changelog`: each row has an `op`, insert or
    delete. `on_error`, for lines of JSON that cannot be read: `fail`, `skip`, or `dead_letter`, which
    `dead_letters=` a sink implies. A CSV or Parquet file that does not fit fails.
    """
    CHECKS.one_of("format", format, FORMATS)
    policy = CHECKS.policy(on_error, dead_letters, "a sink", 'files.sink("bad", format="json")')
    if policy != "fail" and format != "json":
        raise CHECKS.wrong(
            f"on_error={policy!r} is for JSON files.", "leave it out: a file that does not fit fails the job"
        )
    if header and format != "csv":
        raise CHECKS.wrong(f"header is for CSV files, and these are {format}.", "leave it out")
    CHECKS.above_zero("max_files_per_epoch", max_files_per_epoch)
    return FileSource(absolute(path), format, header, changelog, policy, dead_letters, max_files_per_epoch)


def sink(
    path: str,
    *,
    format: FileFormat,
    header: bool = False,
    changelog: bool = False,
    partition_by: str | tuple[str, ...] = (),
    nulls: bool = True,
) -> FileSink:
    """Writes files: a stream as it is, or, with `changelog`, every change of a table as a row with an `op`.

    `partition_by`: columns that name folders, `day=2026-01-01/`, instead of being written into the files.
    `nulls=False`: columns that are NULL are left out of JSON files.
    """
    CHECKS.one_of("format", format, FORMATS)
    if header and format != "csv":
        raise CHECKS.wrong(f"header is for CSV files, and these are {format}.", "leave it out")
    where = files_at(path, here()).resolved(path)
    return FileSink(where, format, header, changelog, columns(partition_by), nulls=nulls)
