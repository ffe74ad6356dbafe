"""How Python code reaches files on HDFS and in object stores: through the JVM in which Spark runs."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError

from millstream.errors import MillstreamError
from millstream.spark import jvm
from millstream.storage import for_hadoop, remote

MISSING = "java.io.FileNotFoundException"
LONGEST = 300
REACH = (
    "is the address right, can this machine reach it, and do Spark's settings name a user who may read and write "
    "there? docs/storage.md says where they are looked for"
)


def bridge() -> remote.Bridge:
    return Files()


class Files:
    """`millstream.journal.FilesForPython`, whose errors are made readable."""

    def read(self, path: str) -> bytes | None:
        found: bytes | None = called("read", path)
        return found

    def open(self, path: str, size: int) -> remote.Input:
        return Input(path, called("open", path, size))

    def entries(self, folder: str) -> str:
        return str(called("entries", folder))

    def create(self, path: str, content: bytes) -> bool:
        return bool(called("create", path, content))

    def replace(self, path: str, content: bytes) -> None:
        called("replace", path, content)

    def delete(self, path: str) -> None:
        called("delete", path)

    def delete_all(self, folder: str) -> None:
        called("deleteAll", folder)


class Input:
    """`millstream.journal.InputForPython`."""

    def __init__(self, path: str, opened: Any) -> None:
        self._path = path
        self._opened = opened

    def read(self, position: int, length: int) -> bytes:
        return bytes(asked(self._path, self._opened.read, position, length))

    def size(self) -> int:
        return int(asked(self._path, self._opened.size))

    def identity(self) -> str:
        return str(asked(self._path, self._opened.identity))

    def close(self) -> None:
        asked(self._path, self._opened.close)


def called(name: str, path: str, *arguments: Any) -> Any:
    return asked(path, getattr(jvm.named("millstream.journal.FilesForPython"), name), path, *arguments)


def asked(path: str, method: Any, *arguments: Any) -> Any:
    try:
        return method(*arguments)
    except Py4JJavaError as error:
        thrown: Any = error.java_exception
        if str(thrown.getClass().getName()) == MISSING:
            raise FileNotFoundError(path) from None
        raise failed(path, str(thrown.getMessage() or thrown)) from error
    except Py4JError as error:
        raise failed(path, "Spark's Java process has ended") from error


def failed(path: str, said: str) -> MillstreamError:
    return MillstreamError(
        "MS-STORAGE-001", f"{path} could not be read or written.", found=said.splitlines()[0][:LONGEST], hint=REACH
    )


def copy_to_disk(source: str, target: str) -> None:
    """Copies a folder of any storage to a disk of this machine, without checksums beside the files."""
    path = jvm.named("org.apache.hadoop.fs.Path")
    files = path(source).getFileSystem(jvm.named("millstream.journal.HadoopSettings").conf())
    if files.exists(path(source)):
        files.copyToLocalFile(False, path(source), path(target), True)


def copy_from_disk(source: str, target: str) -> None:
    """Copies a file of this machine to any storage, if no file has its name yet."""
    path = jvm.named("org.apache.hadoop.fs.Path")
    at = path(for_hadoop(target))
    files = at.getFileSystem(jvm.named("millstream.journal.HadoopSettings").conf())
    if not files.exists(at):
        files.copyFromLocalFile(False, False, path(for_hadoop(source)), at)
