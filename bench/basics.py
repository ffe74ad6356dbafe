"""A filter, a keyed aggregate, a join, and a stream enriched from a table: Millstream beside hand-written PySpark.

Both read the same journal topics with the same source. Millstream writes to a topic, exactly once; PySpark writes text
files by `foreachBatch`. One JVM runs both, in turn, after a warm-up.
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from rich.console import Console
from rich.table import Table

import millstream as ms
from bench.measure import Cost, measured
from millstream import journal
from millstream.spark import session
from millstream.spark.slots import Need

EPOCHS = 5
PARALLELISM = 2
EVENT = "id BIGINT, k BIGINT, v DOUBLE, text STRING"
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Case:
    name: str
    topics: tuple[str, ...]
    millstream: Callable[[ms.Job, Bench], None]
    pyspark: Callable[[Bench], DataFrame]


class Bench:
    """A folder with the events, and a session that both sides use."""

    def __init__(self, folder: Path, events: int, spark: SparkSession | None = None) -> None:
        self.folder = folder
        self.path = str(folder / "journal")
        self.events = events
        self.spark = spark or session.make(2, PARALLELISM, {})
        self._runs = itertools.count()

    def source(self, topic: str, of: int) -> journal.JournalSource:
        return journal.source(topic, path=self.path, max_rows_per_epoch=max(1, self.events // of // EPOCHS))

    def records(self, topic: str, of: int) -> DataFrame:
        reader = self.source(topic, of).reader()
        records = self.own().readStream.format(reader.format).options(**dict(reader.options)).load()
        return records.select(expr(f"from_json(CAST(value AS STRING), '{EVENT}')").alias("e")).select("e.*")

    def latest(self, topic: str, of: int) -> DataFrame:
        """A table by its upserts, read again for each epoch."""
        reader = self.source(topic, of).reader()
        records = self.own().read.format(reader.format).options(**dict(reader.options)).load()
        rows = records.select(expr(f"from_json(CAST(value AS STRING), '{EVENT}')").alias("e"), "offset")
        return rows.groupBy("e.id").agg(expr("max_by(e, offset)").alias("e")).select("e.*")

    def own(self) -> SparkSession:
        own = session.use(self.spark, Need(2), PARALLELISM)
        own.conf.set("spark.sql.optimizer.serializer.nestedSchemaPruning.enabled", "true")
        return own

    def fresh(self) -> tuple[str, str]:
        """A new checkpoint and output topic."""
        number = next(self._runs)
        journal.create(self.path, f"out{number}", 1)
        return str(self.folder / f"checkpoint{number}"), f"out{number}"

    def by_millstream(self, case: Case) -> Cost:
        checkpoint, topic = self.fresh()
        job = ms.Job(case.name, checkpoint=checkpoint, parallelism=PARALLELISM)
        self.out = journal.sink(topic, path=self.path)
        case.millstream(job, self)
        return measured(lambda: job.run(ms.available_now(), spark=self.spark))

    def by_pyspark(self, case: Case) -> Cost:
        checkpoint, out = self.fresh()

        def write(rows: DataFrame, epoch: int) -> None:
            rows.selectExpr("to_json(struct(*)) AS value").write.text(str(self.folder / out / str(epoch)))

        def work() -> None:
            writer = case.pyspark(self).writeStream.foreachBatch(write)
            writer = writer.outputMode("append" if case.name == "join" else "update")
            writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()

        return measured(work)


def filter_job(job: ms.Job, bench: Bench) -> None:
    events = job.stream(bench.source("events", 1), schema=EVENT)
    events.where("v > 0.5 AND k % 3 = 0").select("id", "k", double="v * 2").to(bench.out)


def filter_spark(bench: Bench) -> DataFrame:
    return bench.records("events", 1).where("v > 0.5 AND k % 3 = 0").selectExpr("id", "k", "v * 2 AS double")


def aggregate_job(job: ms.Job, bench: Bench) -> None:
    events = job.stream(bench.source("events", 1), schema=EVENT)
    events.group_by("k").agg(n="count(*)", total="sum(v)", last="max(id)").to(bench.out)


def aggregate_spark(bench: Bench) -> DataFrame:
    grouped = bench.records("events", 1).groupBy("k")
    return grouped.agg(expr("count(*)").alias("n"), expr("sum(v)").alias("total"), expr("max(id)").alias("last"))


def join_job(job: ms.Job, bench: Bench) -> None:
    left = job.stream(bench.source("left", 2), schema=EVENT).as_("l")
    right = job.stream(bench.source("right", 2), schema=EVENT).as_("r")
    joined = left.join(right, on="l.id = r.id AND l.v + r.v > 0.2")
    joined.select("l.id", "l.k", "l.text", v="r.v").to(bench.out)


def join_spark(bench: Bench) -> DataFrame:
    left, right = bench.records("left", 2).alias("l"), bench.records("right", 2).alias("r")
    return left.join(right, expr("l.id = r.id AND l.v + r.v > 0.2")).selectExpr("l.id", "l.k", "l.text", "r.v AS v")


def enrich_job(job: ms.Job, bench: Bench) -> None:
    left = job.stream(bench.source("left", 2), schema=EVENT).as_("l")
    right = job.table(bench.source("right", 2), schema=EVENT, key="id").as_("r")
    left.enrich(right, on="l.id = r.id").select("l.id", "l.k", "l.text", v="r.v").to(bench.out)


def enrich_spark(bench: Bench) -> DataFrame:
    left, right = bench.records("left", 2).alias("l"), bench.latest("right", 2).alias("r")
    return left.join(right, expr("l.id = r.id"), "left").selectExpr("l.id", "l.k", "l.text", "r.v AS v")


CASES = (
    Case("filter", ("events",), filter_job, filter_spark),
    Case("aggregate", ("events",), aggregate_job, aggregate_spark),
    Case("join", ("left", "right"), join_job, join_spark),
    Case("enrich", ("left", "right"), enrich_job, enrich_spark),
)


def generate(path: str, topic: str, events: int, seed: int) -> None:
    journal.create(path, topic, 2)
    chance = random.Random(seed)
    ids = list(range(events))
    chance.shuffle(ids)
    with journal.producer(path, topic, durable=False) as producer:
        for id_ in ids:
            key = chance.randrange(100_000) if chance.random() < 0.7 else chance.randrange(100)
            text = f"some text of an ordinary length {id_ % 1000}"
            producer.send(f'{{"id":{id_},"k":{key},"v":{chance.random():.6f},"text":"{text}"}}')


def run(events: int, rounds: int, only: tuple[str, ...]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="millstream-bench-"))
    console = Console()
    try:
        bench = Bench(folder, events)
        cases = [case for case in CASES if not only or case.name in only]
        for topic in sorted({topic for case in cases for topic in case.topics}):
            seed = 1 if topic == "right" else 2
            generate(bench.path, topic, events // (1 if topic == "events" else 2), seed)
        report(console, events, [compare(bench, case, rounds, console) for case in cases])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Comparison:
    name: str
    millstream: Cost
    pyspark: Cost

    @property
    def ratio(self) -> float:
        return self.millstream.cpu / self.pyspark.cpu


def compare(bench: Bench, case: Case, rounds: int, console: Console) -> Comparison:
    ours, theirs = [], []
    for number in range(rounds + 1):
        one, other = bench.by_millstream(case), bench.by_pyspark(case)
        console.print(f"{case.name} {'warm-up' if number == 0 else number}: {one.cpu:.1f} / {other.cpu:.1f} CPU s")
        if number > 0:
            ours.append(one)
            theirs.append(other)
    return Comparison(case.name, median(ours), median(theirs))


def median(costs: list[Cost]) -> Cost:
    return Cost(statistics.median(cost.cpu for cost in costs), statistics.median(cost.wall for cost in costs))


def report(console: Console, events: int, found: list[Comparison]) -> None:
    millions = events / 1e6
    table = Table(title=f"CPU seconds per million events ({events:,} events)")
    for heading in ("case", "millstream", "pyspark", "ratio", "wall s, millstream", "wall s, pyspark"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for part in found:
        cpu = (f"{part.millstream.cpu / millions:.2f}", f"{part.pyspark.cpu / millions:.2f}", f"{part.ratio:.2f}")
        table.add_row(part.name, *cpu, f"{part.millstream.wall:.1f}", f"{part.pyspark.wall:.1f}")
    console.print(table)
    RESULTS.mkdir(exist_ok=True)
    content = [{**asdict(part), "ratio": part.ratio, "events": events} for part in found]
    (RESULTS / "basics.json").write_text(json.dumps(content, indent=2))
    print(", ".join(f"{part.name} {part.ratio:.2f}" for part in found) + " of hand-written PySpark's CPU seconds")
