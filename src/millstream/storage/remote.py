"""Files of HDFS and of object stores, through the JVM in which Spark runs.

It has the client, the settings and the credentials that Spark itself uses. Only the Spark package may know the JVM:
it says how to reach it by `through`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from millstream.storage.entry import Entry
from millstream.storage.local import PART


class Input(Protocol):
    """The methods of an open file in the JVM."""

    def read(self, position: int, length: int, /) -> bytes: ...

    def size(self) -> int: ...

    def identity(self) -> str: ...

    def close(self) -> None: ...


class Bridge(Protocol):
    """The methods of the JVM's side."""

    def read(self, path: str, /) -> bytes | None: ...

    def open(self, path: str, size: int, /) -> Input: ...

    def entries(self, folder: str, /) -> str:
        """A line for each: its size and its name."""

    def create(self, path: str, content: bytes, /) -> bool: ...

    def replace(self, path: str, content: bytes, /) -> None: ...

    def delete(self, path: str, /) -> None: ...

    def delete_all(self, folder: str, /) -> None: ...


_bridges: list[Callable[[], Bridge]] = []


def through(bridge: Callable[[], Bridge]) -> None:
    """Sets what gives access to the JVM, from now on."""
    _bridges[:] = [bridge]


def _bridge() -> Bridge:
    assert _bridges, "Spark was not imported"
    return _bridges[0]()


class RemoteFile:
    """A file that is open for reading."""

    def __init__(self, opened: Input) -> None:
        self._opened = opened

    def read(self, at: int, most: int) -> bytes:
        return bytes(self._opened.read(at, most))

    def size(self) -> int:
        return int(self._opened.size())

    @property
    def identity(self) -> str:
        return str(self._opened.identity())

    def linked(self) -> bool:
        return True

    def close(self) -> None:
        self._opened.close()


@dataclass(frozen=True)
class RemoteFiles:
    """`checkpoints`: the class by which Spark keeps its own files there."""

    checkpoints: str
    grows: bool
    list_every: float

    @property
    def local(self) -> bool:
        return False

    def resolved(self, path: str) -> str:
        scheme, _, rest = path.partition(":")
        parts = [part for part in rest.split("/") if part]
        # `hdfs:/jobs` and `hdfs:///jobs` are of the cluster that Hadoop's settings name.
        host = "//" if rest.startswith("//") and not rest.startswith("///") else "///"
        return f"{scheme.lower()}:{host}{'/'.join(parts)}"

    def read(self, path: str) -> str | None:
        content = _bridge().read(path)
        return None if content is None else bytes(content).decode()

    def open(self, path: str, size: int | None = None) -> RemoteFile:
        return RemoteFile(_bridge().open(path, -1 if size is None else size))

    def names(self, folder: str) -> list[str]:
        return [entry.name for entry in self.entries(folder)]

    def entries(self, folder: str) -> list[Entry]:
        """Without those that a crash left half written."""
        lines = (line.partition(" ") for line in str(_bridge().entries(folder)).splitlines())
        found = (Entry(name, int(size)) for size, _, name in lines)
        return sorted(entry for entry in found if not (entry.name.startswith(".") and entry.name.endswith(PART)))

    def create(self, path: str, content: str | bytes) -> bool:
        """The store's client tries again when an answer is lost. What lies there then counts as its own if it is the
        same content: a caller that must know whether it was first puts a unique name into it."""
        return bool(_bridge().create(path, content.encode() if isinstance(content, str) else content))

    def replace(self, path: str, text: str) -> None:
        _bridge().replace(path, text.encode())

    def delete(self, path: str) -> None:
        _bridge().delete(path)

    def delete_all(self, folder: str) -> None:
        _bridge().delete_all(folder)
