"""What the journal's tests share: a topic, a look at its files, a sink made by hand, other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import millstream
from millstream import journal
from millstream.journal import format as fmt
from millstream.journal.reader import Isolation
from tests.piped import Piped


@dataclass(frozen=True)
class Disk:
    """A topic "t" in a folder, and its files."""

    path: Path
    topic: str = "t"

    def folder(self, partition: int = 0) -> Path:
        return self.path / self.topic / str(partition)

    def segments(self, partition: int = 0) -> list[Path]:
        return sorted(self.folder(partition).glob("*.seg"))

    def produce(self, *values: str, segment_bytes: int = 1 << 20) -> None:
        with journal.producer(self.path, self.topic, durable=False, segment_bytes=segment_bytes) as out:
            for value in values:
                out.send(value, timestamp=0, partition=0)

    def values(self, isolation: Isolation = "read_committed") -> list[str]:
        return [(r.value or b"").decode() for r in journal.read(self.path, self.topic, isolation=isolation)]

    # A job's sink, by hand.

    def open_file(self, epoch: int, task: int = 0, attempt: int = 0, partition: int = 0) -> Path:
        return self.folder(partition) / "open" / f"job-{epoch:012d}-{task:05d}-0-{attempt}.seg"

    def write_open(self, file: Path, *values: str) -> None:
        with file.open("ab") as out:
            if out.tell() == 0:
                out.write(fmt.encode_header(0))
            out.write(b"".join(fmt.encode(0, None, value.encode()) for value in values))

    def publish(self, file: Path, base: int) -> Path:
        token = file.name.rsplit("-", 2)[0]
        return file.rename(file.parent.parent / f"{base:020d}-{token}.seg")

    def merge(self, parts: list[Path], end: int, *, delete: bool = True) -> Path:
        """What a job does with its small segments, by hand."""
        merged = parts[0].with_name(f"{parts[0].name[:20]}-job-{end:020d}.seg")
        whole = parts[0].with_suffix(".part")
        whole.write_bytes(fmt.encode_header(0) + b"".join(part.read_bytes()[fmt.HEADER_BYTES :] for part in parts))
        whole.rename(merged)
        for part in parts if delete else ():
            part.unlink()
        return merged


NewTopic = Callable[..., AbstractContextManager[Disk]]
StartPython = Callable[..., Piped]


@contextmanager
def _topic(partitions: int = 1) -> Iterator[Disk]:
    """For property tests, which need a new folder for every example."""
    with tempfile.TemporaryDirectory() as folder:
        disk = Disk(Path(folder))
        journal.create(disk.path, disk.topic, partitions)
        yield disk


@pytest.fixture(scope="session")
def new_topic() -> NewTopic:
    return _topic


@pytest.fixture
def disk() -> Iterator[Disk]:
    with _topic() as disk:
        yield disk


@pytest.fixture
def python() -> Iterator[StartPython]:
    """Starts another Python that runs a script with arguments; it is gone when the test ends."""
    started: list[Piped] = []
    source = str(Path(millstream.__file__).parent.parent)

    def start(script: str, *arguments: object) -> Piped:
        process = Piped(
            [sys.executable, "-c", script, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": source},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
