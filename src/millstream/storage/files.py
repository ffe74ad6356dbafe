"""Files of a storage, and which storage an address is of.

A path is text, with slashes: a storage that is not a disk has addresses, not paths of this machine.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

from millstream.errors import Location, MillstreamError
from millstream.storage.local import LocalFiles
from millstream.storage.remote import RemoteFiles

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")


WANTED = (
    "use one of these. Another storage must be able to create a file only if it is not there yet, in one step, and to "
    "replace one in one step"
)
INSTEAD = {"s3": "write s3a:// in place of s3://", "s3n": "write s3a:// in place of s3n://"}


class Files(Protocol):
    """Small files that are written whole. What a call has written is there after a power cut."""

    @property
    def checkpoints(self) -> str | None:
        """The class by which Spark keeps its own files there; None: Spark's choice."""

    def resolved(self, path: str) -> str:
        """The one full address of a path."""

    def read(self, path: str) -> str | None:
        """None: there is no such file."""

    def names(self, folder: str) -> list[str]:
        """What lies in a folder, by name; nothing if there is no such folder."""

    def create(self, path: str, text: str) -> bool:
        """Writes a new file. False if there is one: of several who try at the same time, one succeeds."""

    def replace(self, path: str, text: str) -> None:
        """Writes a file in place of the one that is there. Others find the old one or the new one, whole."""

    def delete(self, path: str) -> None:
        """Takes a file away, if it is there. After a power cut it may be back."""


STORAGES: dict[str, Files] = {
    "file": LocalFiles(),
    "hdfs": RemoteFiles("millstream.checkpoint.HdfsCheckpoints"),
    "s3a": RemoteFiles("millstream.checkpoint.ObjectCheckpoints"),
}


def scheme(path: str) -> str:
    """Of `hdfs://host/jobs`, `hdfs`. A path without one is of this machine."""
    found = SCHEME.match(path)
    return found.group(1).lower() if found else "file"


def files_at(path: str, at: Location | None = None) -> Files:
    """The storage that a checkpoint lies on, by its scheme."""
    found = scheme(path)
    files = STORAGES.get(found)
    if files is None:
        raise MillstreamError(
            "MS-CHECKPOINT-008",
            f"{path} would lie on a storage that Millstream does not know.",
            at=at,
            found=f"{found}://; known: folders of this machine, hdfs:// and s3a://",
            hint=INSTEAD.get(found, WANTED),
        )
    if found == "s3a" and not re.match(r"[^:]+://[^/]", path):
        raise MillstreamError(
            "MS-CHECKPOINT-008", f"{path} names no bucket.", at=at, hint="write it as s3a://BUCKET/FOLDER"
        )
    return files


def on_this_machine(path: str, what: str, at: Location | None = None) -> None:
    """An error if `what` would lie elsewhere: it would become a folder of that name."""
    if scheme(path) != "file":
        raise MillstreamError(
            "MS-CHECKPOINT-009",
            f"{what} cannot lie in {path} yet.",
            at=at,
            found=f"{scheme(path)}://; known: folders of this machine",
            hint="give a folder, for example one that all machines mount",
        )


def absolute(path: str) -> str:
    """A folder of this machine by its full path; what has a scheme, as it is."""
    return path if "://" in path else str(Path(path).expanduser().resolve())
