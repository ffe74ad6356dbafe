"""The same from Kafka to Kafka in Flink SQL, with its exactly-once sink."""

from __future__ import annotations

from pathlib import Path

from bench.measure import Cost
from bench.nexmark.flink import Flink, Missing
from bench.nexmark.run import TOOLS
from millstream.spark.fetch import FetchFailed, cache, resolve

CONNECTOR = "5.0.0-2.2"
"""The newest one available; Flink says that connectors also work with later minor versions."""


def connector() -> Path:
    name = "flink-sql-connector-kafka"
    jar = cache() / f"{name}-{CONNECTOR}.jar"
    if not jar.exists():
        try:
            resolve([f"org.apache.flink:{name}:{CONNECTOR}"], cache(), transitive=False)
        except FetchFailed as error:
            raise Missing(f"Flink's Kafka connector cannot be fetched: {error}") from error
    return jar


def cluster(work: Path, parallelism: int) -> Flink:
    return Flink(TOOLS, work, work, work, parallelism, (connector(),))


def counted(flink: Flink, servers: str, topic: str) -> Cost:
    """All events there are, counted by key, as upserts."""
    at = f"'properties.bootstrap.servers' = '{servers}'"
    source = "CREATE TABLE events (id BIGINT, k BIGINT, v DOUBLE, text STRING) WITH ('connector' = 'kafka', "
    source += f"'topic' = 'events', {at}, 'format' = 'json', 'properties.group.id' = '{topic}', "
    source += "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset')"
    sink = "CREATE TABLE counted (k BIGINT, n BIGINT, total DOUBLE, `last` BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH "
    sink += (
        f"('connector' = 'upsert-kafka', 'topic' = '{topic}', {at}, 'key.format' = 'json', 'value.format' = 'json', "
    )
    sink += f"'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{topic}', "
    sink += "'properties.transaction.timeout.ms' = '600000')"
    insert = "INSERT INTO counted SELECT k, COUNT(*), SUM(v), MAX(id) FROM events GROUP BY k"
    return flink.run([source, sink, insert])
