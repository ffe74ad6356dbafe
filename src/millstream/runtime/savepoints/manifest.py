"""What a savepoint says about itself. FORMAT.md has the files.

<savepoint>/savepoint.json                       published last: a folder without it is no savepoint
<savepoint>/state/<operator>/<list>/000.parquet  state, by operator and list
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

from millstream.errors import MillstreamError
from millstream.plan.connectors import WriteMode
from millstream.spark.lower.state import Placed, StageShape
from millstream.spark.state.reading import SavedFile, SavedList
from millstream.storage import Files, files_at

FORMAT = 1
MANIFEST = "savepoint.json"


@dataclass(frozen=True)
class SavedSource:
    """Where a source was. `offset`: as Spark logs it. `files`: what Spark, or the source itself, keeps beside that."""

    offset: str
    files: dict[str, str]


@dataclass(frozen=True)
class SavedOutput:
    """What a sink receives: its way of writing, and the names of its columns."""

    mode: WriteMode
    columns: tuple[str, ...]


@dataclass(frozen=True)
class SavedTime:
    """The watermark of the epoch, the next one's, and how far each source is if there are several with a time."""

    watermark_ms: int
    next_watermark_ms: int
    sources: dict[str, int]


@dataclass(frozen=True)
class Manifest:
    """`checkpoint` and `identity`: from where it was taken. `identities`: the ids of what sources read."""

    job: str
    checkpoint: str
    identity: str
    epoch: int
    parallelism: int
    taken: str
    time: SavedTime
    sources: dict[str, SavedSource]
    identities: dict[str, dict[str, str]]
    sinks: tuple[str, ...] | None
    stages: tuple[StageShape, ...]
    lists: tuple[SavedList, ...]
    outputs: dict[str, SavedOutput] = field(default_factory=dict)
    """By sink, as far as they are known."""

    @property
    def operators(self) -> dict[str, Placed]:
        return {name: placed for stage in self.stages for name, placed in stage.operators.items()}

    def lists_of(self, operator: str) -> dict[str, SavedList]:
        return {one.name: one for one in self.lists if one.operator == operator}

    @property
    def rows(self) -> int:
        return sum(one.rows for one in self.lists)

    def json(self) -> str:
        content = json.loads(json.dumps({"format": FORMAT, **asdict(self)}))
        return json.dumps({**content, "sha256": checksum(content)}, indent=1)


def checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Savepoint:
    """A whole savepoint."""

    path: str
    manifest: Manifest

    @property
    def state(self) -> str:
        return state_of(self.path)


def state_of(path: str) -> str:
    return f"{path}/state"


def is_savepoint(address: str) -> bool:
    """Whether a whole one is there."""
    files = files_at(address)
    return files.read(f"{files.resolved(address)}/{MANIFEST}") is not None


def read_savepoint(address: str) -> Savepoint:
    """An error if there is none, if it is not whole, or if its format is unknown."""
    files = files_at(address)
    path = files.resolved(address)
    text = files.read(f"{path}/{MANIFEST}")
    if text is None:
        raise nothing_there(files, path, address)
    try:
        content = json.loads(text)
        version = content.pop("format")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise damaged(address, f"{MANIFEST} is no savepoint's manifest") from None
    if version != FORMAT:
        raise MillstreamError(
            "MS-SAVEPOINT-003",
            f"the savepoint {address} has format {version}, not {FORMAT}.",
            hint="use the version of Millstream that wrote it" if str(version) > str(FORMAT) else None,
        )
    if content.pop("sha256", None) != checksum({"format": version, **content}):
        raise damaged(address, f"{MANIFEST} was changed")
    return Savepoint(path, parsed(content))


def parsed(content: dict[str, Any]) -> Manifest:
    return Manifest(
        **{
            **content,
            "time": SavedTime(**content["time"]),
            "sources": {name: SavedSource(**one) for name, one in content["sources"].items()},
            "sinks": None if content["sinks"] is None else tuple(content["sinks"]),
            "stages": tuple(StageShape.read(stage) for stage in content["stages"]),
            "outputs": {
                name: SavedOutput(one["mode"], tuple(one["columns"]))
                for name, one in content.get("outputs", {}).items()
            },
            "lists": tuple(
                SavedList(**{**one, "files": tuple(SavedFile(**file) for file in one["files"])})
                for one in content["lists"]
            ),
        }
    )


def nothing_there(files: Files, path: str, address: str) -> MillstreamError:
    if files.names(path):
        return MillstreamError(
            "MS-SAVEPOINT-002",
            f"the savepoint {address} is not whole: it has no {MANIFEST}, which is written last.",
            hint="whoever took it did not come to the end: delete the folder and take another one",
        )
    return MillstreamError("MS-SAVEPOINT-002", f"there is no savepoint at {address}.", hint="is the path right?")


def damaged(address: str, found: str) -> MillstreamError:
    return MillstreamError(
        "MS-SAVEPOINT-004",
        f"the savepoint {address} is damaged.",
        found=found,
        hint="bring back what is missing, or use another savepoint; the checkpoint it was taken from is as it was",
    )
