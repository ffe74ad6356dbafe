"""What users say of a journal topic that a job reads or writes."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.errors import MillstreamError, did_you_mean
from millstream.plan.connectors import Format, OnError, Reader, WriteMode
from millstream.plan.errors import here

if TYPE_CHECKING:
    from millstream.journal.topics import Topic

Starting = str | dict[int, int]


def default_path() -> str:
    return os.environ.get("MILLSTREAM_JOURNAL", "journal")


def absolute(path: str) -> str:
    """A folder of this machine by its full path; other file systems as they are."""
    return path if "://" in path else str(Path(path).expanduser().resolve())


def opened(path: str, topic: str) -> Topic:
    # Not at the top: `millstream.journal` offers what stands here, and whoever is imported first needs the other.
    from millstream.journal.topics import open_topic

    return open_topic(path, topic)


@dataclass(frozen=True)
class JournalSource:
    topic: str
    path: str
    format: Format = "json"
    changelog: bool = False
    on_error: OnError = "fail"
    dead_letter_topic: str | None = None
    max_rows_per_epoch: int | None = None
    starting: str = "earliest"

    @property
    def system(self) -> str:
        return "journal"

    @property
    def label(self) -> str:
        return self.topic

    @property
    def dead_letters(self) -> JournalSink | None:
        return JournalSink(self.dead_letter_topic, self.path) if self.dead_letter_topic else None

    @property
    def real_time(self) -> bool:
        return True

    def partitions(self) -> int:
        return opened(self.path, self.topic).partitions

    def reader(self) -> Reader:
        options = {"path": self.path, "topic": self.topic, "starting": self.starting}
        if self.max_rows_per_epoch is not None:
            options["maxRowsPerEpoch"] = str(self.max_rows_per_epoch)
        return Reader("millstream-journal", tuple(options.items()))


@dataclass(frozen=True)
class JournalSink:
    topic: str
    path: str
    format: Format = "json"
    changelog: bool = False
    key: tuple[str, ...] = ()

    @property
    def system(self) -> str:
        return "journal"

    @property
    def label(self) -> str:
        return self.topic

    @property
    def modes(self) -> tuple[WriteMode, ...]:
        if self.changelog:
            return ("changelog",)
        return ("append",) if self.format == "raw" else ("upsert", "append")

    @property
    def guarantee(self) -> str:
        return "exactly once (two phases)"

    @property
    def partition_by(self) -> tuple[str, ...]:
        return ()

    def check(self) -> None:
        opened(self.path, self.topic)

    def writer(self) -> dict[str, str]:
        return {"kind": "journal", "path": self.path, "topic": self.topic}


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
    policy = on_error or ("dead_letter" if dead_letters else "fail")
    one_of("format", format, ("json", "raw"))
    one_of("on_error", policy, ("fail", "skip", "dead_letter"))
    if (policy == "dead_letter") != (dead_letters is not None):
        raise wrong("dead letters need a topic.", 'on_error="dead_letter", dead_letters="bad_likes"')
    if max_rows_per_epoch is not None and max_rows_per_epoch < 1:
        raise wrong(f"max_rows_per_epoch is {max_rows_per_epoch}.", "give a number above 0, or leave it out")
    begin = json.dumps({str(p): o for p, o in starting.items()}) if isinstance(starting, dict) else starting
    if not isinstance(starting, dict):
        one_of("starting", starting, ("earliest", "latest"))
    where = absolute(path or default_path())
    return JournalSource(topic, where, format, changelog, policy, dead_letters, max_rows_per_epoch, begin)


def sink(
    topic: str,
    *,
    path: str | None = None,
    format: Format = "json",
    changelog: bool = False,
    key: str | tuple[str, ...] = (),
) -> JournalSink:
    """Writes to a topic: a stream as it is, a table as upserts and deletes by its key, or, with `changelog`, every
    change as a row with an `op`."""
    one_of("format", format, ("json", "raw"))
    if changelog and format == "raw":
        raise wrong("raw records have no place for an op.", "leave out changelog or format")
    keys = (key,) if isinstance(key, str) else tuple(key)
    return JournalSink(topic, absolute(path or default_path()), format, changelog, keys)


def one_of(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        hint = did_you_mean(str(value), allowed)
        raise MillstreamError(
            "MS-JOURNAL-010",
            f"{what} cannot be {value!r}.",
            at=here(),
            found="one of: " + ", ".join(allowed),
            hint=hint,
        )


def wrong(message: str, hint: str) -> MillstreamError:
    return MillstreamError("MS-JOURNAL-010", message, at=here(), hint=hint)
