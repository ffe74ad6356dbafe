"""Real time for a long time: files, memory, threads and latency at the end are what they were at the beginning."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millstream import journal
from millstream.storage import CheckpointFolder

PER_SECOND, KEYS = 200, 500
SETTLED = 300
"""Seconds after which the state is steady: from then on, old files are merged and deleted."""
PART = 60
"""Seconds at the beginning and at the end that are compared."""
ROOM = 1.25
"""How much more there may be at the end: two looks at the same thing differ."""


@dataclass(frozen=True)
class Look:
    """At a moment; latencies of the seconds before it, in milliseconds."""

    barriers: int
    files: int
    heap: float
    resident: float
    threads: int
    p50: float
    p99: float


class Load:
    """Sends rows, and reads the results as any client would."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sent: Counter[int] = Counter()
        self._stop = threading.Event()
        self._latencies: list[tuple[float, float]] = []
        self._threads = [threading.Thread(target=each) for each in (self._send, self._read)]

    def _send(self) -> None:
        number = 0
        with journal.producer(self.path, "rows", durable=False) as producer:
            while not self._stop.wait(1 / PER_SECOND):
                key = number * 7919 % KEYS
                at = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime())}Z"
                producer.send({"k": key, "sent": time.time_ns(), "at": at}, partition=number % 2)
                producer.flush()
                self.sent[key] += 1
                number += 1

    def _read(self) -> None:
        with journal.Reader(self.path, "counts", isolation="read_uncommitted") as reader:
            while not self._stop.is_set():
                for record in reader.poll(0.1):
                    self._latencies.append((time.monotonic(), (time.time_ns() - record.json()["sent"]) / 1e6))

    def take(self) -> list[float]:
        """What was seen since the last time."""
        taken, self._latencies = self._latencies, []
        return sorted(latency for _, latency in taken)

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


class Job:
    def __init__(self, folder: Path, every: str) -> None:
        self.folder = folder
        with (folder / "job.log").open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "soak.steady_job", str(folder), every],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def in_use(self) -> dict[str, int]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("look\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the job ended:\n{(self.folder / 'job.log').read_text()[-3000:]}")
        found: dict[str, int] = json.loads(answer)
        return found

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(120)


@contextmanager
def started(every: str) -> Iterator[tuple[Job, Load]]:
    with tempfile.TemporaryDirectory(prefix="millstream-soak-") as name:
        folder = Path(name)
        for topic in ("rows", "counts", "closed"):
            journal.create(folder / "journal", topic, 2)
        job = Job(folder, every)
        try:
            with Load(folder / "journal") as load:
                yield job, load
        finally:
            job.process.kill()


def files(folder: Path) -> int:
    """In the checkpoint, and of the topics that the job writes."""
    places = (folder / "checkpoint", folder / "journal" / "counts", folder / "journal" / "closed")
    return sum(len(names) for place in places for _, _, names in os.walk(place))


def look(job: Job, load: Load, seconds: float) -> Look:
    """Looks after `seconds` seconds, in which nothing else is asked of the job."""
    load.take()
    time.sleep(seconds)
    seen = load.take()
    if not seen:
        raise RuntimeError("nothing comes out of the job any more")
    committed = CheckpointFolder.at(str(job.folder / "checkpoint")).committed()
    use = job.in_use()
    return Look(
        max(committed, default=-1) + 1,
        files(job.folder),
        use["heap"] / 2**20,
        use["resident"] / 2**20,
        use["threads"],
        seen[len(seen) // 2],
        seen[len(seen) * 99 // 100],
    )


def wrong(job: Job, load: Load) -> int:
    """How many keys do not have the count that they should."""
    found: dict[int, Any] = {}
    for record in journal.read(job.folder / "journal", "counts"):
        row = record.json()
        found[row["k"]] = row["n"]
    return sum(found.get(key) != count for key, count in load.sent.items())


def soak(seconds: float, every: str, tell: Callable[[str], None]) -> tuple[Look, Look, int]:
    """The beginning, the end, and how many keys are wrong when all is done."""
    part = min(PART, seconds / 4)
    with started(every) as (job, load):
        begun = time.monotonic()
        time.sleep(max(0, min(SETTLED, seconds / 2) - part))
        first = look(job, load, part)
        tell(f"after {time.monotonic() - begun:.0f} s: {first}")
        time.sleep(max(0, seconds - (time.monotonic() - begun) - part))
        last = look(job, load, part)
        tell(f"after {time.monotonic() - begun:.0f} s: {last}")
        load.__exit__()
        time.sleep(max(5, part / 10))
        job.stop()
        return first, last, wrong(job, load)


def report(first: Look, last: Look) -> str:
    names = {
        "barriers": "barriers",
        "files": "files of checkpoint and topics",
        "heap": "heap after a collection, MiB",
        "resident": "resident memory, MiB",
        "threads": "threads",
        "p50": "p50, ms",
        "p99": "p99, ms",
    }
    lines = ["| | at the beginning | at the end |", "|---|--:|--:|"]
    for name, words in names.items():
        values = (getattr(part, name) for part in (first, last))
        lines.append(f"| {words} | " + " | ".join(f"{value:,.1f}".removesuffix(".0") for value in values) + " |")
    return "\n".join(lines)


def grown(first: Look, last: Look) -> list[str]:
    """What is more at the end than it was. Latency depends on what else the machine does, so it is only shown."""
    return [name for name in ("files", "heap", "threads") if getattr(last, name) > ROOM * getattr(first, name)]
