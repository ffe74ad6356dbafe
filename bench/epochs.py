"""What an epoch costs by itself: likes become matches, from journal to journal, a few rows at a time.

The same backlog is processed in few epochs and in many; the difference is what the epochs cost. In real time, what
barriers cost when nothing comes.
"""

from __future__ import annotations

import itertools
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

import millstream as ms
from bench.measure import cpu_seconds, measured
from millstream import journal
from millstream.spark import session

PARALLELISM = 2
SCHEMA = "liker STRING, liked STRING, at BIGINT"
RESULTS = Path(__file__).parent / "results"
SIZES = (1, 1000)
"""Rows of an epoch: next to nothing, and a few."""
FEW, MANY = 10, 110
"""Epochs."""
WARM_UPS, WARM_UP = 8, 60
"""Runs before anything is measured, and epochs of each. After some 400 epochs the JVM's compilers have done their work;
in the first 60, these take most of what an epoch costs."""
IDLE = 30
"""Seconds for which real time is measured."""


class Bench:
    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "journal")
        self.folder = folder
        self.spark = session.make(6, PARALLELISM, {})
        self._runs = itertools.count()

    def likes(self, count: int) -> str:
        topic = f"likes{next(self._runs)}"
        journal.create(self.path, topic, 1)
        with journal.producer(self.path, topic, durable=False) as producer:
            for number in range(count):
                pair, (liker, liked) = number // 2, ("ab", "ba")[number % 2]
                producer.send({"liker": f"{liker}{pair}", "liked": f"{liked}{pair}", "at": number})
        return topic

    def job(self, topic: str, rows: int | None) -> ms.Job:
        number = next(self._runs)
        out = f"matches{number}"
        journal.create(self.path, out, 2)
        made = ms.Job(f"epochs{number}", checkpoint=str(self.folder / f"checkpoint{number}"), parallelism=PARALLELISM)
        likes = made.stream(journal.source(topic, path=self.path, max_rows_per_epoch=rows), SCHEMA)
        both = likes.as_("a").join(likes.as_("b"), on="a.liker = b.liked AND a.liked = b.liker")
        both.where("a.liker < a.liked").select("a.liker", at="b.at").to(journal.sink(out, path=self.path))
        return made

    def spent(self, rows: int, epochs: int) -> float:
        """CPU seconds of a run with `epochs` epochs."""
        job = self.job(self.likes(rows * epochs), rows)
        return measured(lambda: job.run(ms.available_now(), spark=self.spark)).cpu

    def epoch(self, rows: int) -> float:
        return (self.spent(rows, MANY) - self.spent(rows, FEW)) / (MANY - FEW)

    def idle(self, every: str) -> float:
        """CPU seconds per minute in real time, when nothing comes."""
        run = self.job(self.likes(2), None).start(ms.real_time(every), spark=self.spark)
        try:
            time.sleep(IDLE / 2)
            before, since = cpu_seconds(), time.monotonic()
            time.sleep(IDLE)
            return (cpu_seconds() - before) * 60 / (time.monotonic() - since)
        finally:
            run.stop()


def run(rounds: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="millstream-bench-"))
    try:
        bench = Bench(folder)
        found: dict[str, list[float]] = {}
        for number in range(WARM_UPS):
            each = bench.spent(SIZES[0], WARM_UP) / WARM_UP
            found[f"epochs {number * WARM_UP + 1} to {(number + 1) * WARM_UP}, with a start, each"] = [each]
        bench.spent(SIZES[-1], WARM_UP)
        for _ in range(rounds):
            for rows in SIZES:
                found.setdefault(f"epoch of {rows:,} rows", []).append(bench.epoch(rows))
            found.setdefault("real time at rest, a minute, 1 s checkpoints", []).append(bench.idle("1 second"))
        report({name: statistics.median(parts) for name, parts in found.items()})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def report(found: dict[str, float]) -> None:
    table = Table(title="CPU seconds that an epoch costs by itself")
    table.add_column("")
    table.add_column("CPU s", justify="right")
    for name, seconds in found.items():
        table.add_row(name, f"{seconds:.3f}")
    Console().print(table)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "epochs.json").write_text(json.dumps(found, indent=1))
    print(f"an epoch costs {found[f'epoch of {SIZES[0]:,} rows']:.3f} CPU seconds")
