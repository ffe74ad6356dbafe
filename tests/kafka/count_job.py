"""A job from Kafka to Kafka, to be killed: `count_job.py SERVERS PREFIX CHECKPOINT MODE TIMEOUT`."""

from __future__ import annotations

import sys

import millstream as ms
from millstream import kafka
from millstream.plan.connectors import Jars
from millstream.spark import session
from millstream.testing.faults import MANAGER

MODES = {
    "micro-batch": ms.micro_batch("0 seconds"),
    "real-time": ms.real_time("300 ms"),
    "one-epoch": ms.real_time("10 minutes"),
}
QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m"}


def count_job(servers: str, prefix: str, checkpoint: str, timeout: str, rows: int | None = None) -> ms.Job:
    job = ms.Job("count", checkpoint=checkpoint, parallelism=2)
    source = kafka.source(f"{prefix}.in", servers=servers, max_rows_per_epoch=rows)
    stream = job.stream(source, "k STRING, n BIGINT", name="in")
    every, counts = (
        kafka.sink(f"{prefix}.{name}", servers=servers, transaction_timeout=timeout) for name in ("every", "counts")
    )
    stream.to(every)
    stream.group_by("k").agg(n="count(*)", last="max(n)").to(counts)
    return job


def main(servers: str, prefix: str, checkpoint: str, mode: str, timeout: str) -> None:
    spark = session.make(8, 2, {**MANAGER, **QUICK}, (Jars("kafka"),))
    rows = 100 if mode == "micro-batch" else None
    count_job(servers, prefix, checkpoint, timeout, rows).run(MODES[mode], spark=spark)


if __name__ == "__main__":
    main(*sys.argv[1:])
