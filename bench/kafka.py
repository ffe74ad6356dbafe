"""From Kafka by a keyed aggregate to Kafka: exactly once by Millstream's sink, beside Spark's own and Flink's.

Four ways over the same events, in turn: the whole job; the same job whose rows Spark's own at-least-once sink writes,
so that the difference is the sink's alone; hand-written PySpark; and Flink with its exactly-once sink. What each writes
is checked. The broker's CPU seconds are counted separately.
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
from functools import partial
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from rich.console import Console
from rich.table import Table

import millstream as ms
from bench.kafka_flink import cluster, counted
from bench.measure import Cost, cpu_seconds, measured
from bench.nexmark.flink import Flink, Missing
from millstream import kafka
from millstream.plan.connectors import Jars
from millstream.spark import session
from millstream.spark.lower.job import lower_streaming
from millstream.spark.slots import Need
from servers.kafka import Kafka, running

EPOCHS = 5
PARALLELISM = 2
EVENT = "id BIGINT, k BIGINT, v DOUBLE, text STRING"
RESULTS = Path(__file__).parent / "results"
SERVER = ("-Xmx1g",)
"""A benchmark's broker lives long enough for the JVM's second compiler."""


@dataclass(frozen=True)
class Spent:
    """CPU seconds of the engine and of the broker, and how many records were written."""

    clients: float
    broker: float
    wall: float
    written: int


class Bench:
    def __init__(self, broker: Kafka, folder: Path, events: int) -> None:
        self.broker = broker
        self.folder = folder
        self.events = events
        self.admin = AdminClient({"bootstrap.servers": broker.servers})
        self.spark = session.make(2, PARALLELISM, {}, (Jars(kafka.JARS),))
        self._runs = itertools.count()
        self.expected: dict[int, tuple[int, int]] = {}
        """Key -> how many events, and the last one's id."""

    def topic(self, name: str) -> str:
        for made in self.admin.create_topics([NewTopic(name, 2, 1)]).values():
            made.result()
        return name

    def fresh(self) -> tuple[str, str]:
        """A new checkpoint and topic."""
        number = next(self._runs)
        return str(self.folder / f"checkpoint{number}"), self.topic(f"out{number}")

    def job(self, checkpoint: str, topic: str) -> ms.Job:
        job = ms.Job("aggregate", checkpoint=checkpoint, parallelism=PARALLELISM)
        rows = max(1, self.events // EPOCHS)
        source = kafka.source("events", servers=self.broker.servers, max_rows_per_epoch=rows)
        counted = job.stream(source, EVENT).group_by("k").agg(n="count(*)", total="sum(v)", last="max(id)")
        counted.to(kafka.sink(topic, servers=self.broker.servers))
        return job

    def exactly_once(self) -> Spent:
        checkpoint, topic = self.fresh()
        job = self.job(checkpoint, topic)
        return self.spent(lambda: self.measured(lambda: job.run(ms.available_now(), spark=self.spark)), topic)

    def at_least_once(self) -> Spent:
        """The same rows, by Spark's own sink."""
        checkpoint, topic = self.fresh()
        own = session.use(self.spark, Need(2), PARALLELISM)
        own.conf.set("spark.sql.streaming.checkpointFileManagerClass", "millstream.checkpoint.DiskCheckpoints")
        rows = lower_streaming(self.job(checkpoint, topic).plan(), own).frame.selectExpr("key", "value")
        return self.spent(lambda: self.measured(lambda: self.write(rows, checkpoint, topic)), topic)

    def by_pyspark(self) -> Spent:
        checkpoint, topic = self.fresh()
        own = session.use(self.spark, Need(2), PARALLELISM)
        reader = own.readStream.format("kafka").option("kafka.bootstrap.servers", self.broker.servers)
        reader = reader.option("subscribe", "events").option("startingOffsets", "earliest")
        reader = reader.option("maxOffsetsPerTrigger", str(max(1, self.events // EPOCHS)))
        rows = reader.load().select(expr(f"from_json(CAST(value AS STRING), '{EVENT}')").alias("e")).select("e.*")
        counted = rows.groupBy("k").agg(expr("count(*) AS n"), expr("sum(v) AS total"), expr("max(id) AS last"))
        records = counted.selectExpr("to_json(struct(k)) AS key", "to_json(struct(*)) AS value")
        return self.spent(lambda: self.measured(lambda: self.write(records, checkpoint, topic)), topic)

    def by_flink(self, flink: Flink) -> Spent:
        _, topic = self.fresh()
        return self.spent(lambda: counted(flink, self.broker.servers, topic), topic)

    def write(self, rows: DataFrame, checkpoint: str, topic: str) -> None:
        writer = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", self.broker.servers)
        # Records are gathered as Millstream's sink gathers them.
        writer = writer.option("kafka.linger.ms", "20").option("kafka.batch.size", "131072")
        writer = writer.option("topic", topic).option("checkpointLocation", checkpoint).outputMode("update")
        writer.trigger(availableNow=True).start().awaitTermination()

    def measured(self, work: Callable[[], object]) -> Cost:
        """CPU of this process and what it started; Flink, which is idle meanwhile, adds next to nothing."""
        return measured(work, without=self.broker.server.process.pid)

    def spent(self, work: Callable[[], Cost], topic: str) -> Spent:
        server = self.broker.server.process.pid
        before = cpu_seconds(server)
        cost = work()
        broker = cpu_seconds(server) - before
        return Spent(cost.cpu, broker, cost.wall, self.check(topic))

    def check(self, topic: str) -> int:
        """How many records there are; an error if the last ones of the keys are not right."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.broker.servers,
                "group.id": "check",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            }
        )
        consumer.assign([TopicPartition(topic, part, OFFSET_BEGINNING) for part in range(2)])
        found, records, ended = {}, 0, 0
        while ended < 2:
            for message in consumer.consume(10_000, 1):
                if message.error():
                    ended += 1
                else:
                    row = json.loads(message.value())
                    found[row["k"]] = (row["n"], row["last"])
                    records += 1
        consumer.close()
        if found != self.expected:
            raise RuntimeError(f"{topic} is wrong: {len(found)} keys of {len(self.expected)}")
        return records


def generate(bench: Bench) -> None:
    bench.topic("events")
    chance = random.Random(1)
    producer = Producer({"bootstrap.servers": bench.broker.servers, "queue.buffering.max.messages": 1_000_000})
    for id_ in range(bench.events):
        key = chance.randrange(100_000) if chance.random() < 0.7 else chance.randrange(100)
        text = f"some text of an ordinary length {id_ % 1000}"
        bench.expected[key] = (bench.expected.get(key, (0, 0))[0] + 1, id_)
        event = f'{{"id":{id_},"k":{key},"v":{chance.random():.6f},"text":"{text}"}}'
        producer.produce("events", event, partition=id_ % 2)
        if id_ % 10_000 == 0:
            producer.flush()
    producer.flush()


def flink_of(folder: Path, console: Console) -> Flink | None:
    try:
        return cluster(folder / "flink", PARALLELISM)
    except Missing as missing:
        console.print(f"without Flink: {missing}")
        return None


def run(events: int, rounds: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="millstream-bench-"))
    console = Console()
    try:
        with running(SERVER) as broker:
            bench = Bench(broker, folder, events)
            generate(bench)
            flink = flink_of(folder, console)
            ways: dict[str, Callable[[], Spent]] = {
                "exactly once": bench.exactly_once,
                "at least once": bench.at_least_once,
                "pyspark, at least once": bench.by_pyspark,
                **({"flink, exactly once": partial(bench.by_flink, flink)} if flink else {}),
            }
            found: dict[str, list[Spent]] = {name: [] for name in ways}
            for number in range(rounds + 1):
                for name, way in ways.items():
                    spent = way()
                    console.print(f"{name} {number or 'warm-up'}: {spent.clients:.1f} + {spent.broker:.1f} CPU s")
                    if number > 0:
                        found[name].append(spent)
            if flink:
                flink.close()
        report(console, events, {name: median(parts) for name, parts in found.items()})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def median(parts: list[Spent]) -> Spent:
    return Spent(
        statistics.median(part.clients for part in parts),
        statistics.median(part.broker for part in parts),
        statistics.median(part.wall for part in parts),
        round(statistics.median(part.written for part in parts)),
    )


def report(console: Console, events: int, found: dict[str, Spent]) -> None:
    millions = events / 1e6
    table = Table(title=f"Kafka to aggregate to Kafka: CPU seconds per million events ({events:,} events)")
    for heading in ("sink", "engine", "broker", "wall s", "written"):
        table.add_column(heading, justify="left" if heading == "sink" else "right")
    for name, part in found.items():
        cpu = (f"{seconds / millions:.2f}" for seconds in (part.clients, part.broker))
        table.add_row(name, *cpu, f"{part.wall:.1f}", f"{part.written:,}")
    console.print(table)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "kafka.json").write_text(json.dumps({name: asdict(part) for name, part in found.items()}, indent=2))
    ours, theirs, flink = (found.get(name) for name in ("exactly once", "at least once", "flink, exactly once"))
    assert ours is not None
    assert theirs is not None
    if flink:
        rest = (flink.clients + flink.broker) / (ours.clients + ours.broker)
        print(f"flink's cost is {flink.clients / ours.clients:.2f} of exactly once; with the broker {rest:.2f}")
    both = (ours.clients + ours.broker) / (theirs.clients + theirs.broker)
    print(f"exactly once costs {ours.clients / theirs.clients:.2f} of at least once; with the broker {both:.2f}")
