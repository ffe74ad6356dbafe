"""How cost grows with parallelism and with state, on four executors of a Spark cluster of this machine.

A topic of 64 partitions is summed by key; a third of its rows belong to a hundred hot keys. Each key keeps a text of a
kilobyte that does not compress, so that state soon exceeds the memory that executors may use. Sums are compared with
what they should be. CPU seconds are those of all executors and the driver.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

import millstream as ms
from bench.basics import RESULTS
from bench.measure import cpu_seconds
from bench.plot import Chart, Line, page
from millstream import journal
from millstream.runtime.run import Run
from millstream.spark import jvm
from millstream.storage import CheckpointFolder
from servers.standalone import Standalone, running

EXECUTORS, SLOTS, PARTITIONS = 4, 4, 64
HOT = 100
MEGABYTE = 1 << 20
HEAP, ROCKSDB = "1g", 128
SETTINGS = {
    "spark.executor.memory": HEAP,
    "spark.executor.cores": str(SLOTS),
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # The memory that all state of an executor may use in addition to its heap.
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
    "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": str(ROCKSDB),
}
TEXT = "concat(" + ", ".join(f"sha2(concat(n, '{salt}'), 512)" for salt in "abcdefgh") + ")"
"""1,024 characters."""
PLOT = Path(__file__).parent / "scale.svg"


@dataclass(frozen=True)
class Sample:
    """What was measured when `rows` rows were committed."""

    rows: int
    cpu: float
    state: float
    """Megabytes on the executors' disks: with what is being merged, without what RocksDB has yet in memory."""
    memory: float
    """Megabytes of the largest executor: heap, RocksDB and all else that is not files."""


def key(n: int) -> int:
    return n % HOT if n % 3 == 0 else n


class Bench:
    def __init__(self, cluster: Standalone, folder: Path) -> None:
        self._cluster, self._folder = cluster, folder
        self._runs = 0
        self._path = str(folder / "journal")

    def generate(self, topic: str, rows: int, keys: int) -> None:
        journal.create(self._path, topic, PARTITIONS)
        with journal.producer(self._path, topic, durable=False) as producer:
            for n in range(rows):
                producer.send(f'{{"n":{n % keys},"k":{key(n % keys)}}}', partition=n % PARTITIONS)

    def run(self, topic: str, parallelism: int, rows: int, keys: int, epochs: int) -> list[Sample]:
        """All rows of a topic, in `epochs` epochs, starting without state."""
        self._runs += 1
        out = f"sums{self._runs}"
        journal.create(self._path, out, 1)
        checkpoint = str(self._folder / f"checkpoint{self._runs}")
        job = ms.Job("scale", checkpoint=checkpoint, parallelism=parallelism, shared_disk=True)
        source = journal.source(topic, path=self._path, max_rows_per_epoch=rows // epochs)
        numbers = job.stream(source, schema="n BIGINT, k BIGINT").select("n", "k", text=TEXT)
        sums = numbers.group_by("k").agg(rows="count(*)", total="sum(n)", text="max(text)")
        sums.select("k", "rows", "total", size="length(text)").to(journal.sink(out, path=self._path))
        run = job.start(ms.available_now(), on=ms.cluster(self._cluster.master, conf=SETTINGS))
        samples = self._watched(run, CheckpointFolder.at(checkpoint), rows // epochs)
        self._judge(out, rows, keys)
        return samples

    def _watched(self, run: Run, checkpoint: CheckpointFolder, each: int) -> list[Sample]:
        samples: list[Sample] = []
        before, most = self._cpu(), 0.0
        over = False
        while not over:
            over = run.poll(0.2)
            most = max(most, *(anonymous(pid) for pid in self._executors()), 0.0)
            rows = len(checkpoint.committed()) * each
            if rows > (samples[-1].rows if samples else 0):
                samples.append(Sample(rows, self._cpu() - before, self._state(), most))
                most = 0.0
        return samples

    def _executors(self) -> list[int]:
        return [pid for worker in self._cluster.workers for pid in worker.executors]

    def _cpu(self) -> float:
        driver = int(jvm.named("java.lang.ProcessHandle").current().pid())
        return sum(cpu_seconds(pid) for pid in (driver, *self._executors()))

    def _state(self) -> float:
        disks = (worker.disk for worker in self._cluster.workers)
        return sum(size(file) for disk in disks for file in disk.rglob("*.sst")) / MEGABYTE

    def _judge(self, out: str, rows: int, keys: int) -> None:
        """By what the rows of a key must add up to: there may be more keys than fit into this process's memory."""
        times, hot = rows // keys, {}
        counts = array("l", bytes(8 * keys))
        for record in journal.read(self._path, out):
            row = record.json()
            k, count = row["k"], row["rows"]
            if k < HOT:
                hot[k] = row
            elif k % 3 == 0 or (row["total"], row["size"]) != (count * k, 1024):
                raise RuntimeError(f"{row} is wrong")
            else:
                counts[k] = count
        if any(counts[k] != times for k in range(HOT, keys) if k % 3):
            raise RuntimeError(f"keys are missing from {out}, or have too few rows")
        if hot != hot_sums(keys, times):
            raise RuntimeError(f"the sums of hot keys in {out} are wrong")


def hot_sums(keys: int, times: int) -> dict[int, dict[str, int]]:
    """The last row of each hot key, if each number below `keys` was read `times` times."""
    rows: Counter[int] = Counter()
    totals: Counter[int] = Counter()
    for n in range(keys):
        if key(n) < HOT:
            rows[key(n)] += times
            totals[key(n)] += n * times
    return {k: {"k": k, "rows": rows[k], "total": totals[k], "size": 1024} for k in rows}


def size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # merged into others meanwhile
        return 0


def anonymous(pid: int) -> float:
    """Megabytes that are not files."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) / 1024


@contextmanager
def world() -> Iterator[Bench]:
    with (
        TemporaryDirectory(prefix="millstream-bench-") as folder,
        running(workers=EXECUTORS, cores=SLOTS, memory=HEAP) as cluster,
    ):
        yield Bench(cluster, Path(folder))


def run(rows: int, keys: int, parallelisms: tuple[int, ...]) -> None:
    """`rows`: for each parallelism. `keys`: how many there are in the end where state grows."""
    console = Console()
    with world() as bench:
        bench.generate("few", rows, rows // 10)
        bench.run("few", max(parallelisms), rows, rows // 10, 4)  # to warm up
        by_parallelism = {}
        for number in parallelisms:
            by_parallelism[number] = bench.run("few", number, rows, rows // 10, 4)[-1]
            console.print(f"parallelism {number}: {by_parallelism[number]}")
        bench.generate("many", keys, keys)
        by_state = bench.run("many", max(parallelisms), keys, keys, 20)
        for sample in by_state:
            console.print(str(sample))
    report(console, by_parallelism, by_state)


def kept(rows: int) -> float:
    """Gigabytes of text that this many rows leave in state, if two thirds of them have different keys."""
    return rows * 2 / 3 * 1024 / 2**30


def slopes(samples: list[Sample]) -> list[tuple[float, float]]:
    """State in gigabytes -> CPU seconds per million rows, between two samples, three epochs apart."""
    pairs = zip(samples[:-3:3], samples[3::3], strict=False)
    return [(kept(b.rows), (b.cpu - a.cpu) / (b.rows - a.rows) * 1e6) for a, b in pairs]


def report(console: Console, by_parallelism: dict[int, Sample], by_state: list[Sample]) -> None:
    table = Table(title="CPU seconds per million rows")
    for heading in ("parallelism", "state, GB", "CPU s per million rows", "memory of the largest executor, MB"):
        table.add_column(heading, justify="right")
    per_million = [(number, sample.cpu / sample.rows * 1e6) for number, sample in by_parallelism.items()]
    for number, cost in per_million:
        sample = by_parallelism[number]
        table.add_row(str(number), f"{sample.state / 1024:.2f}", f"{cost:.1f}", f"{sample.memory:.0f}")
    memory = [(kept(sample.rows), sample.memory) for sample in by_state]
    for state, cost in slopes(by_state):
        near = min(memory, key=lambda pair: abs(pair[0] - state))
        table.add_row(str(max(by_parallelism)), f"{state:.2f}", f"{cost:.1f}", f"{near[1]:.0f}")
    console.print(table)
    up = "CPU s per million rows"
    charts = [
        Chart("by parallelism", "tasks of a stage", up, (Line("little state", tuple(per_million)),)),
        Chart("by state", "GB of state", up, (Line("16 tasks", tuple(slopes(by_state))),)),
        Chart("memory", "GB of state", "MB", (Line("largest executor", tuple(memory)),)),
    ]
    PLOT.write_text(page(charts))
    RESULTS.mkdir(exist_ok=True)
    content = {"parallelism": {n: asdict(s) for n, s in by_parallelism.items()}, "state": [asdict(s) for s in by_state]}
    (RESULTS / "scale.json").write_text(json.dumps(content, indent=2))
