"""Options for a journal topic that a job reads or writes."""

from __future__ import annotations

import json
import os

from millstream.connectors.journal.errors import CHECKS
from millstream.connectors.journal.sink import JournalSink
from millstream.connectors.journal.source import JournalSource
from millstream.plan.connectors import Format, OnError
from millstream.plan.errors import here
from millstream.plan.options import columns
from millstream.storage import files_at

Starting = str | dict[int, int]


def default_path() -> str:
    return os.environ.get("MILLSTREAM_JOURNAL", "journal")


def resolved(path: str | None) -> str:
    where = path or default_path()
    return files_at(where, here()).resolved(where)


def source(
    topic: str,
    *,
    path: str | None = None,
    format: Format = "json",
    changelog: bool = False,
    on_error: OnError | None = None,
    dead_letters: str | None = None,
    max_rows_per_epoch: int | None = None,
    starting: Starting = "earliest",
) -> JournalSource:
    """Reads a topic.

    `changelog`: each row has an `op`, insert or delete. `on_error`, for records that cannot be read: `fail` (the
    default), `skip` (they are counted), or `dead_letter`, which `dead_letters="topic"` implies.
    """
    policy = CHECKS.policy(on_error, dead_letters, "a topic", '"bad_likes"')
    CHECKS.one_of("format", format, ("json", "raw"))
    CHECKS.above_zero("max_rows_per_epoch", max_rows_per_epoch)
    begin = json.dumps({str(p): o for p, o in starting.items()}) if isinstance(starting, dict) else starting
    if not isinstance(starting, dict):
        CHECKS.one_of("starting", starting, ("earliest", "latest"))
    where = resolved(path)
    return JournalSource(topic, where, format, changelog, policy, dead_letters, max_rows_per_epoch, begin)


def sink(
    topic: str,
    *,
    path: str | None = None,
    format: Format = "json",
    changelog: bool = False,
    key: str | tuple[str, ...] = (),
    nulls: bool = True,
) -> JournalSink:
    """Writes to a topic: a stream as it is, a table as upserts and deletes by its key, or, with `changelog`, every
    change as a row with an `op`.

    `nulls=False`: columns that are NULL are left out of the JSON.
    """
    CHECKS.one_of("format", format, ("json", "raw"))
    if changelog and format == "raw":
        raise CHECKS.wrong("raw records have no place for an op.", "leave out changelog or format")
    return JournalSink(
        topic=topic, path=resolved(path), format=format, changelog=changelog, key=columns(key), nulls=nulls
    )
