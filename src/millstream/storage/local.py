"""Files of a local disk. What is written is there after a power cut: the old or the new, and never a part of it."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlparse

from millstream.storage.entry import Entry

PART = ".part"
"""How the names of files end that are being written."""


class LocalFile:
    """A file that is open for reading."""

    def __init__(self, path: str) -> None:
        self._fd = -1
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self, at: int, most: int) -> bytes:
        return os.pread(self._fd, most, at)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    @property
    def identity(self) -> tuple[int, int]:
        stat = os.fstat(self._fd)
        return stat.st_dev, stat.st_ino

    def linked(self) -> bool:
        return os.fstat(self._fd).st_nlink > 0

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()


class LocalFiles:
    checkpoints = "millstream.checkpoint.DiskCheckpoints"
    local = True
    grows = True
    list_every = 0.0

    def resolved(self, path: str) -> str:
        plain = unquote(urlparse(path).path) if path.startswith("file:") else path
        return str(Path(plain).expanduser().resolve())

    def read(self, path: str) -> str | None:
        try:
            return Path(path).read_text()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self, folder: str) -> list[str]:
        """Without those that a crash left half written."""
        try:
            found = os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for name in found if not (name.startswith(".") and name.endswith(PART)))

    def entries(self, folder: str) -> list[Entry]:
        return [Entry(name, None) for name in self.names(folder)]

    def open(self, path: str, size: int | None = None) -> LocalFile:
        return LocalFile(path)

    def create(self, path: str, content: str | bytes) -> bool:
        with written(Path(path), content) as part:
            try:
                os.link(part, path)
            except FileExistsError:
                return False
            finally:
                part.unlink()
        return True

    def replace(self, path: str, text: str) -> None:
        with written(Path(path), text) as part:
            part.replace(path)

    def delete(self, path: str) -> None:
        Path(path).unlink(missing_ok=True)

    def delete_all(self, folder: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def written(file: Path, content: str | bytes) -> Iterator[Path]:
    """The content under a unique name, synced; once it is in its place, the folder is synced, too."""
    make_folder(file.parent)
    part = file.with_name(f".{file.name}.{uuid.uuid4().hex}{PART}")
    try:
        with part.open("wb") as out:
            out.write(content.encode() if isinstance(content, str) else content)
            out.flush()
            os.fsync(out.fileno())
        yield part
    finally:
        part.unlink(missing_ok=True)
    sync_folder(file.parent)


def make_folder(folder: Path) -> None:
    """With all above it; new names are durable."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
