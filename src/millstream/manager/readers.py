"""The processes that read state for people: one for each job that is being looked into, and few at a time."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from millstream.errors import MillstreamError
from millstream.manager.home import Home, read_json
from millstream.manager.inspection import error_of
from millstream.manager.reader import MARK
from millstream.manager.records import JobRecord
from millstream.manager.surroundings import surroundings
from millstream.reports.folder import newest

MOST = 2
PATIENCE = 150.0
"""Seconds that an answer may take: Spark has to start for the first one."""
EPOCHS = 200
"""How many of the last ones are looked through for one with rows."""
MOST_REPLAYED = 100_000
"""Rows of an epoch that is run again to show them."""
COMMAND = (sys.executable, "-m", "millstream.manager.reader")


@dataclass(frozen=True)
class Question:
    """`keys`: `VALUE`, or `COLUMN=VALUE`. `at`: an epoch that is kept; None: the last one."""

    operator: str | None = None
    keys: tuple[str, ...] = ()
    at: int | None = None
    limit: int = 50


@dataclass
class Reader:
    key: tuple[str, int]
    process: subprocess.Popen[bytes]
    used: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            self.used = time.monotonic()
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.write(json.dumps(asked).encode() + b"\n")
            self.process.stdin.flush()
            return self._answer(self.process.stdout)

    def _answer(self, source: IO[bytes]) -> dict[str, Any]:
        end, rest = time.monotonic() + PATIENCE, b""
        with selectors.DefaultSelector() as selector:
            selector.register(source, selectors.EVENT_READ)
            while (left := end - time.monotonic()) > 0:
                part = os.read(source.fileno(), 65_536) if selector.select(left) else None
                if part == b"":
                    raise BrokenPipeError("it has ended")
                *lines, rest = (rest + (part or b"")).split(b"\n")
                for line in lines:
                    if line.startswith(MARK.encode()):
                        found: dict[str, Any] = json.loads(line[len(MARK) :])
                        return found
        raise TimeoutError(f"no answer within {PATIENCE:g} s")

    def end(self) -> None:
        """With the JVM that it has started, which is in its process group."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def running(job: JobRecord) -> int:
    """The version of the code that wrote the state."""
    return job.run.version if job.run else job.version


class Readers:
    def __init__(self, home: Home, command: tuple[str, ...] = COMMAND) -> None:
        self._home = home
        self._command = command
        self._lock = threading.Lock()
        self._readers: list[Reader] = []

    def ask(self, job: JobRecord, question: Question) -> dict[str, Any]:
        plan = read_json(self._home.version(job.name, running(job)) / "plan.json", {})
        asked = {
            "checkpoint": plan.get("checkpoint"),
            "operator": question.operator,
            "keys": list(question.keys),
            "at": question.at,
            "limit": question.limit,
        }
        return self._answer(job, asked)

    def rows(self, job: JobRecord, limit: int) -> dict[str, Any]:
        """What an epoch of the last ones gave to the sinks: one that had rows, and not too many to run it again."""
        epochs = newest(self._home.run(job.name, job.number).epochs, EPOCHS)
        asked = {
            "what": "rows",
            "file": str(self._home.version(job.name, running(job)) / job.file),
            "checkpoint": job.spec.checkpoint,
            "parallelism": job.spec.parallelism,
            "epochs": [each["epoch"] for each in epochs if 0 < each["rows"] <= MOST_REPLAYED],
            "limit": limit,
        }
        return self._answer(job, asked)

    def _answer(self, job: JobRecord, asked: dict[str, Any]) -> dict[str, Any]:
        reader = self._reader(job, running(job))
        try:
            found = reader.ask(asked)
        except (OSError, ValueError) as error:
            self._drop(reader)
            raise MillstreamError(
                "MS-MANAGER-017",
                f'job "{job.name}" could not be looked into.',
                found=str(error),
                hint=f"ask again; {self._log(job.name)} has what the process wrote",
            ) from error
        if "error" in found:
            raise error_of(found["error"])
        return found

    def _log(self, name: str) -> str:
        return str(self._home.job(name) / "reader.log")

    def _reader(self, job: JobRecord, version: int) -> Reader:
        """The one that is there, or a new one, in the place of the one that was used least."""
        with self._lock:
            self._readers = [each for each in self._readers if each.process.poll() is None]
            known = next((each for each in self._readers if each.key == (job.name, version)), None)
            if known is not None:
                return known
            while len(self._readers) >= MOST:
                oldest = min(self._readers, key=lambda each: each.used)
                self._readers.remove(oldest)
                oldest.end()
            reader = Reader((job.name, version), self._start(job, version))
            self._readers.append(reader)
            return reader

    def _start(self, job: JobRecord, version: int) -> subprocess.Popen[bytes]:
        with open(self._log(job.name), "wb") as log:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=job.spec.folder or None,
                env=surroundings(self._home.version(job.name, version)),
                start_new_session=True,
            )

    def _drop(self, reader: Reader) -> None:
        with self._lock:
            if reader in self._readers:
                self._readers.remove(reader)
        reader.end()

    def close(self) -> None:
        for reader in self._readers:
            reader.end()
        self._readers = []
