"""A job with Delta tables as a process of its own, to be killed: `delta_job.py FOLDER MODE`."""

from __future__ import annotations

import sys
from pathlib import Path

import millstream as ms
from millstream import delta, journal
from millstream.spark import session
from millstream.testing.faults import MANAGER

QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m"}
"""These processes do not live long enough for the JVM's slow compiler to pay off."""


def orders_job(folder: Path, rows_per_epoch: int | None = 17, checkpoint: str = "checkpoint") -> ms.Job:
    """All orders as they are, and what each customer spends, without those whose sum is odd: rows come and go."""
    job = ms.Job("orders", checkpoint=str(folder / checkpoint), parallelism=2)
    source = journal.source("orders", path=str(folder / "journal"), max_rows_per_epoch=rows_per_epoch)
    orders = job.stream(source, "id BIGINT, customer INT, price DECIMAL(10, 2)")
    orders.to(delta.sink(str(folder / "orders"), partition_by="customer"))
    spending = orders.group_by("customer").agg(total="sum(price)", orders="count(*)")
    spending.where("orders % 2 = 0").to(delta.sink(str(folder / "spending")))
    return job


def main(folder: str, mode: str) -> None:
    spark = session.make(8, 2, {**MANAGER, **QUICK})
    if mode == "real-time":
        orders_job(Path(folder)).run(ms.real_time("300 ms"), spark=spark)
    else:
        orders_job(Path(folder)).run(ms.micro_batch("0 seconds"), spark=spark)


if __name__ == "__main__":
    main(*sys.argv[1:])
