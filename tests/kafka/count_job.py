"""A job from Kafka to Kafka, to be killed: see `crash/serve.py`.

`count_job.py SERVERS PREFIX CHECKPOINT MODE` runs it in its own process.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import millstream as ms
from millstream import kafka
from millstream.plan.connectors import Jars
from millstream.spark import session
from millstream.testing.faults import MANAGER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run

MODES: dict[str, ms.Mode] = {
    "micro-batch": ms.micro_batch("0 seconds"),
    "real-time": ms.real_time("300 ms"),
    "one-epoch": ms.real_time("10 minutes"),
}
JARS = (Jars(kafka.JARS),)
LONG = "15 minutes"
"""How long a transaction may be open."""
QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m"}


def count_job(
    servers: str | kafka.Cluster, prefix: str, checkpoint: str, timeout: str = LONG, rows: int | None = None
) -> ms.Job:
    job = ms.Job("count", checkpoint=checkpoint, parallelism=2)
    source = kafka.source(f"{prefix}.in", servers=servers, max_rows_per_epoch=rows)
    stream = job.stream(source, "k STRING, n BIGINT", name="in")
    every, counts = (
        kafka.sink(f"{prefix}.{name}", servers=servers, transaction_timeout=timeout) for name in ("every", "counts")
    )
    stream.to(every)
    stream.group_by("k").agg(n="count(*)", last="max(n)").to(counts)
    return job


def limit(mode: str) -> int | None:
    """How many rows an epoch may take."""
    return 100 if mode == "micro-batch" else None


def start(spark: SparkSession, folder: str, servers: str, ca: str, prefix: str, mode: str, timeout: str) -> Run:
    at = kafka.cluster(servers, tls=kafka.tls(ca=ca))
    job = count_job(at, prefix, f"{folder}/checkpoint", timeout, limit(mode))
    return job.start(MODES[mode], spark=spark)


def main(servers: str, prefix: str, checkpoint: str, mode: str) -> None:
    spark = session.make(8, 2, {**MANAGER, **QUICK}, JARS)
    count_job(servers, prefix, checkpoint, rows=limit(mode)).run(MODES[mode], spark=spark)


if __name__ == "__main__":
    main(*sys.argv[1:])
