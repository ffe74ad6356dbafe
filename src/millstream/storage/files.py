"""Files of a storage, and the storage of an address.

A path is text, with slashes: a storage that is not a disk has addresses, not paths of this machine.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

from millstream.errors import Location, MillstreamError
from millstream.storage.entry import Entry
from millstream.storage.local import LocalFiles
from millstream.storage.remote import RemoteFiles

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")


WANTED = (
    "use one of these. Another storage must be able to create a file only if it is not there yet, in one step, and to "
    "replace one in one step"
)
INSTEAD = {"s3": "write s3a:// in place of s3://", "s3n": "write s3a:// in place of s3n://"}


class Opened(Protocol):
    """A file that is read at any place."""

    def read(self, at: int, most: int) -> bytes:
        """Up to `most` bytes; fewer only at the file's end."""

    def size(self) -> int:
        """As far as it is written now."""

    @property
    def identity(self) -> object:
        """The same for the same file under whichever name, and for no other."""

    def linked(self) -> bool:
        """Whether it may still have a name."""

    def close(self) -> None: ...


class Files(Protocol):
    """Small files that are written whole. What a call has written is there after a power cut."""

    @property
    def checkpoints(self) -> str | None:
        """The class by which Spark keeps its own files there; None: Spark's choice."""

    @property
    def local(self) -> bool:
        """Whether it is a disk of this machine: files grow, and processes lock them."""

    @property
    def grows(self) -> bool:
        """Whether a file can be read before it is whole."""

    @property
    def list_every(self) -> float:
        """Seconds to wait before listing a folder again, when waiting for a new name."""

    def resolved(self, path: str) -> str:
        """The one full address of a path."""

    def read(self, path: str) -> str | None:
        """None: there is no such file."""

    def open(self, path: str, size: int | None = None) -> Opened:
        """`size`: how long it is, and stays, if that is known."""

    def names(self, folder: str) -> list[str]:
        """What is in a folder, by name; nothing if there is no such folder."""

    def entries(self, folder: str) -> list[Entry]:
        """The same with sizes, where these come along."""

    def create(self, path: str, content: str | bytes) -> bool:
        """Writes a new file. False if there is one: if several try at the same time, one succeeds."""

    def replace(self, path: str, text: str) -> None:
        """Writes a file in place of the one that is there. Others find the old one or the new one, whole."""

    def delete(self, path: str) -> None:
        """Deletes a file, if it is there. After a power cut it may be back."""

    def delete_all(self, folder: str) -> None:
        """Deletes a folder, with all that is in it."""


STORAGES: dict[str, Files] = {
    "file": LocalFiles(),
    "hdfs": RemoteFiles("millstream.checkpoint.DiskCheckpoints", grows=True, list_every=0.1),
    "s3a": RemoteFiles("millstream.checkpoint.ObjectCheckpoints", grows=False, list_every=0.5),
}


def scheme(path: str) -> str:
    """Of `hdfs://host/jobs`, `hdfs`. A path without one is of this machine."""
    found = SCHEME.match(path)
    return found.group(1).lower() if found else "file"


def files_at(path: str, at: Location | None = None) -> Files:
    """The storage that a checkpoint, a journal or a sink's files are on, by its scheme."""
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


def absolute(path: str) -> str:
    """A folder of this machine by its full path; what has a scheme, as it is."""
    return path if "://" in path else str(Path(path).expanduser().resolve())
