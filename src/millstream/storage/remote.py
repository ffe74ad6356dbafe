"""Files of HDFS and of object stores, through the JVM in which Spark runs.

It has the client, the settings and the credentials that Spark itself uses. Only the Spark package may know the JVM:
it says how to reach it by `through`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from millstream.storage.local import PART


class Bridge(Protocol):
    """What `millstream.journal.FilesForPython` offers, in Java."""

    def read(self, path: str, position: int = ..., length: int = ..., /) -> bytes | None: ...

    def names(self, folder: str, /) -> Iterable[str]: ...

    def create(self, path: str, content: bytes, /) -> bool: ...

    def replace(self, path: str, content: bytes, /) -> None: ...

    def delete(self, path: str, /) -> None: ...


_bridges: list[Callable[[], Bridge]] = []


def through(bridge: Callable[[], Bridge]) -> None:
    """Whom to ask for the way to the JVM, from now on."""
    _bridges[:] = [bridge]


def _bridge() -> Bridge:
    assert _bridges, "Spark was not imported"
    return _bridges[0]()


@dataclass(frozen=True)
class RemoteFiles:
    """`checkpoints`: the class by which Spark keeps its own files there."""

    checkpoints: str

    def resolved(self, path: str) -> str:
        scheme, _, rest = path.partition(":")
        parts = [part for part in rest.split("/") if part]
        # `hdfs:/jobs` and `hdfs:///jobs` are of the cluster that Hadoop's settings name.
        host = "//" if rest.startswith("//") and not rest.startswith("///") else "///"
        return f"{scheme.lower()}:{host}{'/'.join(parts)}"

    def read(self, path: str) -> str | None:
        content = _bridge().read(path)
        return None if content is None else bytes(content).decode()

    def names(self, folder: str) -> list[str]:
        """Without those that a crash left half written."""
        found = (str(name) for name in _bridge().names(folder))
        return sorted(name for name in found if not (name.startswith(".") and name.endswith(PART)))

    def create(self, path: str, text: str) -> bool:
        """The store's client tries again when an answer is lost. What lies there then counts as its own if it is the
        same text: who must know whether it was first puts a name of its own into it."""
        return bool(_bridge().create(path, text.encode()))

    def replace(self, path: str, text: str) -> None:
        _bridge().replace(path, text.encode())

    def delete(self, path: str) -> None:
        _bridge().delete(path)
