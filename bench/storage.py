"""What an epoch costs on HDFS and S3, beside a disk of this machine: CPU seconds, requests, time.

Checkpoint and topics are on the storage. A run of one epoch is subtracted from a run of many, so that starting and
ending a run does not count. All servers are on this machine: the network, which takes most of the time in practice,
costs nothing here. That is why requests are counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import millstream as ms
from bench.basics import RESULTS
from bench.measure import cpu_seconds, measured
from millstream import journal
from millstream.plan.connectors import Jars
from millstream.spark import jvm, session, storages
from servers import hdfs, s3
from servers.s3_proxy import S3Proxy

ROWS = 1000
"""Of each epoch."""


@dataclass(frozen=True)
class Storage:
    name: str
    root: str
    requests: Callable[[], int]
    """How many it has had so far."""
    server: int | None
    """Its process."""


@dataclass(frozen=True)
class Epoch:
    """What one costs."""

    cpu: float
    server_cpu: float
    requests: float
    wall: float


def copy(job: ms.Job, path: str) -> None:
    numbers(job, path).to(journal.sink("out", path=path))


def count(job: ms.Job, path: str) -> None:
    """With state: 1,000 keys, each of which changes in each epoch, in two partitions."""
    numbers(job, path).group_by("k").agg(n="count(*)", total="sum(n)").to(journal.sink("out", path=path))


def numbers(job: ms.Job, path: str) -> ms.Stream:
    return job.stream(journal.source("numbers", path=path, max_rows_per_epoch=ROWS), schema="n BIGINT, k BIGINT")


JOBS = {"without state": copy, "with state": count}


class Bench:
    """A job on a storage, run after run."""

    def __init__(self, storage: Storage, name: str, spark: SparkSession) -> None:
        self._storage, self._name, self._spark = storage, name, spark
        self._folder = f"{storage.root}/{name.replace(' ', '-')}"
        for topic in ("numbers", "out"):
            journal.create(f"{self._folder}/journal", topic, 1)
        self._jvm = int(jvm.named("java.lang.ProcessHandle").current().pid())

    def run(self, epochs: int) -> Epoch:
        """Runs `epochs` epochs, all in one run."""
        with journal.producer(f"{self._folder}/journal", "numbers") as producer:
            for n in range(epochs * ROWS):
                producer.send({"n": n, "k": n % ROWS})
        job = ms.Job("bench", checkpoint=f"{self._folder}/checkpoint", parallelism=2)
        JOBS[self._name](job, f"{self._folder}/journal")
        requests, server = self._storage.requests(), self._server_cpu()
        cost = measured(lambda: job.run(ms.available_now(), spark=self._spark), of=self._jvm)
        return Epoch(cost.cpu, self._server_cpu() - server, self._storage.requests() - requests, cost.wall)

    def _server_cpu(self) -> float:
        return cpu_seconds(self._storage.server) if self._storage.server else 0.0

    def epoch(self, epochs: int, rounds: int) -> Epoch:
        """After a warm-up; the round that took the least CPU."""
        self.run(epochs)
        found = []
        for _ in range(rounds):
            few, many = self.run(1), self.run(1 + epochs)
            parts = zip(asdict(few).values(), asdict(many).values(), strict=True)
            found.append(Epoch(*((after - before) / epochs for before, after in parts)))
        return min(found, key=lambda epoch: epoch.cpu)


@contextmanager
def world() -> Iterator[tuple[SparkSession, list[Storage]]]:
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="millstream-bench-"))
        files = stack.enter_context(hdfs.running())
        store = stack.enter_context(s3.running())
        proxy = stack.enter_context(S3Proxy(store.port))
        reach = {f"spark.hadoop.{name}": value for name, value in s3.settings(proxy.endpoint).items()}
        bucket = f"s3a://{s3.BUCKET}"
        jars: tuple[Jars, ...] = storages.jars([bucket])
        spark = session.make(4, 2, {**reach, "spark.local.dir": folder}, jars)
        session.prepare(spark, jars, elsewhere=True)
        yield (
            spark,
            [
                Storage("local disk", folder, lambda: 0, None),
                Storage("HDFS", f"{files.url}/bench", hdfs_requests, files.server.process.pid),
                Storage("S3", f"{bucket}/bench", lambda: len(proxy.requests()), store.server.process.pid),
            ],
        )


def hdfs_requests() -> int:
    """As the client counts them."""
    known = jvm.named("org.apache.hadoop.fs.FileSystem").getGlobalStorageStatistics().get("DFSOpsCountStatistics")
    counts = known.getLongStatistics()
    total = 0
    while counts.hasNext():
        one = counts.next()
        total += int(one.getValue()) if str(one.getName()).startswith("op_") else 0
    return total


def run(epochs: int, rounds: int) -> None:
    console = Console()
    found: dict[str, dict[str, Epoch]] = {}
    with world() as (spark, all_storages):
        for name in JOBS:
            for storage in all_storages:
                found.setdefault(name, {})[storage.name] = Bench(storage, name, spark).epoch(epochs, rounds)
                console.print(f"{name}, {storage.name}: {found[name][storage.name]}")
    report(console, found)


def report(console: Console, found: dict[str, dict[str, Epoch]]) -> None:
    table = Table(title=f"an epoch of {ROWS:,} rows")
    for heading in ("job", "storage", "CPU s, Spark", "CPU s, server", "requests", "ms"):
        table.add_column(heading, justify="left" if heading in ("job", "storage") else "right")
    for name, storages_ in found.items():
        for storage, one in storages_.items():
            figures = (f"{one.cpu:.2f}", f"{one.server_cpu:.2f}", f"{one.requests:.1f}", f"{1000 * one.wall:.0f}")
            table.add_row(name, storage, *figures)
    console.print(table)
    RESULTS.mkdir(exist_ok=True)
    content = {name: {storage: asdict(one) for storage, one in parts.items()} for name, parts in found.items()}
    (Path(RESULTS) / "storage.json").write_text(json.dumps(content, indent=2))
