"""Topics: created, listed, described."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from millstream.errors import MillstreamError, did_you_mean
from millstream.journal import format as fmt
from millstream.journal import lock
from millstream.journal.segments import Partition, chain, end_of
from millstream.plan.modes import milliseconds
from millstream.storage import files_at
from millstream.storage.local import sync_folder

JournalPath = str | os.PathLike[str]
TOMBSTONES = "1 day"


@dataclass(frozen=True)
class Keep:
    """What a topic keeps: records of so many milliseconds, so many bytes of each partition. None: all.

    `tombstones`: of each key the newest record only, and tombstones for so many milliseconds. None: not compacted.
    """

    milliseconds: int | None = None
    bytes: int | None = None
    tombstones: int | None = None

    @property
    def limited(self) -> bool:
        return self.milliseconds is not None or self.bytes is not None

    def described(self) -> dict[str, int]:
        said = {"keep_ms": self.milliseconds, "keep_bytes": self.bytes, "compact_ms": self.tombstones}
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True)
class Topic:
    """A topic that exists."""

    journal: str
    name: str
    partitions: int
    keep: Keep = Keep()

    def partition(self, number: int) -> Partition:
        if not 0 <= number < self.partitions:
            raise MillstreamError(
                "MS-JOURNAL-010",
                f'topic "{self.name}" has no partition {number}.',
                found="one partition, 0" if self.partitions == 1 else f"partitions 0 to {self.partitions - 1}",
            )
        return Partition(self.name, number, f"{self.journal}/{self.name}/{number}")


@dataclass(frozen=True)
class PartitionInfo:
    """A partition as `describe` finds it."""

    partition: int
    start: int
    """The offset of the first record that is there."""
    end: int
    """The offset that the next record will get."""
    bytes: int
    segments: int
    writer: bool | None
    """Whether a producer or a job holds it now. None: unknown, because there are no locks."""

    @property
    def records(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class TopicInfo:
    """A topic as `describe` finds it."""

    topic: str
    partitions: tuple[PartitionInfo, ...]

    @property
    def records(self) -> int:
        return sum(p.records for p in self.partitions)

    @property
    def bytes(self) -> int:
        return sum(p.bytes for p in self.partitions)


def create(
    path: JournalPath,
    topic: str,
    partitions: int = 1,
    *,
    keep: str | None = None,
    keep_bytes: int | None = None,
    compact: bool = False,
    tombstones: str = TOMBSTONES,
) -> None:
    """Creates a topic, and the journal if it is not there yet.

    `keep`: for how long records stay, as in `"7 days"`; `keep_bytes`: how much of each partition stays. Whole segments
    are deleted, the oldest first, by whoever writes; without these, all is kept. `compact`: of each key only the newest
    record is kept, which is enough for a table; `tombstones`: for how long the deletion of a key can be read.
    """
    _check(topic, partitions)
    kept = replace(_keep(topic, keep, keep_bytes), tombstones=milliseconds(tombstones) if compact else None)
    _create(_journal(path), topic, partitions, kept)


def create_like(path: JournalPath, topic: Topic) -> None:
    """Creates a topic in another journal, with the name and the settings of one that exists."""
    _create(_journal(path), topic.name, topic.partitions, topic.keep)


def _create(journal: str, topic: str, partitions: int, keep: Keep) -> None:
    version = fmt.VERSION if keep.tombstones is None else fmt.COMPACTED
    made = _create_folder if files_at(journal).local else _create_file
    if not made(journal, topic, {"format": version, "partitions": partitions, **keep.described()}):
        raise MillstreamError(
            "MS-JOURNAL-002",
            f'topic "{topic}" exists already in journal {journal}.',
            hint="use it as it is, or choose another name.",
        )


def drop(path: JournalPath, topic: str) -> None:
    """Deletes a topic with all that is in it, if it is there."""
    journal = _journal(path)
    files_at(journal).delete(_description(journal, topic))
    files_at(journal).delete_all(f"{journal}/{topic}")


def exists(path: JournalPath, topic: str) -> bool:
    journal = _journal(path)
    return fmt.is_topic_name(topic) and _text(journal, topic) is not None


def topics(path: JournalPath) -> list[str]:
    """The names of the journal's topics."""
    journal = _journal(path)
    names = (name for name in files_at(journal).names(journal) if fmt.is_topic_name(name))
    return sorted(name for name in names if _text(journal, name) is not None)


def describe(path: JournalPath, topic: str) -> TopicInfo:
    """What a topic holds: offsets, records, bytes, segments, its writers."""
    found = open_topic(path, topic)
    partitions = tuple(_describe_partition(found.partition(n)) for n in range(found.partitions))
    return TopicInfo(topic, partitions)


def open_topic(path: JournalPath, topic: str) -> Topic:
    """The topic, if it exists and is of a version that is known."""
    journal = _journal(path)
    text = _text(journal, topic) if fmt.is_topic_name(topic) else None
    if text is None:
        raise _missing(journal, topic)
    written = _loads(text)
    partitions = written.get("partitions")
    if written.get("format") not in (fmt.VERSION, fmt.COMPACTED) or not isinstance(partitions, int) or partitions < 1:
        raise MillstreamError(
            "MS-JOURNAL-006",
            f'topic "{topic}" is of a format that this version of Millstream does not know.',
            found=f"topic.json holds {text.strip()[:200]}; known: formats {fmt.VERSION} and {fmt.COMPACTED}",
            hint="read it with the version of Millstream that wrote it, or a newer one.",
        )
    kept = Keep(written.get("keep_ms"), written.get("keep_bytes"), written.get("compact_ms"))
    return Topic(journal, topic, partitions, kept)


def _keep(topic: str, age: str | None, size: int | None) -> Keep:
    kept = Keep(None if age is None else milliseconds(age), size)
    if 0 in kept.described().values() or (size or 0) < 0:
        raise MillstreamError("MS-JOURNAL-007", f'topic "{topic}" must keep something.', hint='keep="7 days"')
    return kept


def _journal(path: JournalPath) -> str:
    """The journal's address; makes it reachable if it is not a local folder."""
    journal = os.fspath(path)
    files = files_at(journal)
    if files.local:
        return files.resolved(journal) if journal.startswith("file:") else str(Path(journal))
    # Not at the top: reading and writing local folders needs no Spark.
    from millstream.spark.reach import reach

    reach(journal)
    return files.resolved(journal)


def _description(journal: str, topic: str) -> str:
    return f"{journal}/{topic}/topic.json"


def _text(journal: str, topic: str) -> str | None:
    try:
        return files_at(journal).read(_description(journal, topic))
    except NotADirectoryError:
        return None


def _check(topic: str, partitions: int) -> None:
    if not fmt.is_topic_name(topic):
        raise MillstreamError(
            "MS-JOURNAL-007",
            f'"{topic}" cannot be the name of a topic.',
            hint="use letters, digits, _ . and -, and do not begin with a dot.",
        )
    if partitions < 1:
        raise MillstreamError(
            "MS-JOURNAL-007",
            f'topic "{topic}" cannot have {partitions} partitions.',
            hint="use 1 or more.",
        )


def _create_folder(journal: str, topic: str, description: dict[str, Any]) -> bool:
    """Made under a hidden name and renamed: a topic is there whole, or not at all."""
    folder = Path(journal)
    folder.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{topic}.", dir=folder))
    try:
        made.chmod(0o755)
        _fill(made, description)
        os.rename(made, folder / topic)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise
        return False
    finally:
        shutil.rmtree(made, ignore_errors=True)
    sync_folder(folder)
    return True


def _fill(folder: Path, description: dict[str, Any]) -> None:
    for number in range(description["partitions"]):
        (folder / str(number) / "open").mkdir(parents=True)
        sync_folder(folder / str(number))
    with open(folder / "topic.json", "w") as file:
        file.write(json.dumps(description) + "\n")
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)


def _create_file(journal: str, topic: str, description: dict[str, Any]) -> bool:
    """The description is the topic: folders come with the first file in them."""
    # If two create it at the same time, one succeeds: what they write differs.
    made = {**description, "made": secrets.token_hex(8)}
    return files_at(journal).create(_description(journal, topic), json.dumps(made) + "\n")


def _missing(journal: str, topic: str) -> MillstreamError:
    known = topics(journal)
    return MillstreamError(
        "MS-JOURNAL-001",
        f'topic "{topic}" does not exist in journal {journal}.',
        found=f"topics: {', '.join(known)}" if known else "no topics",
        hint=did_you_mean(topic, known) or f"create it: millstream journal create {topic} --path {journal}",
    )


def _describe_partition(where: Partition) -> PartitionInfo:
    segments = chain(where)
    return PartitionInfo(
        partition=where.number,
        start=segments[0].base if segments else 0,
        end=end_of(where, segments),
        bytes=sum(_size(where, segment) for segment in segments),
        segments=len(segments),
        writer=lock.is_held(where),
    )


def _size(where: Partition, segment: fmt.Segment) -> int:
    return os.stat(f"{where.folder}/{segment.path}").st_size if segment.size is None else segment.size


def _loads(text: str) -> dict[str, Any]:
    try:
        loaded = json.loads(text)
    except ValueError:
        return {}
    return loaded if isinstance(loaded, dict) else {}
