"""A job with Delta tables, to be killed: see `crash/serve.py`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import millstream as ms
from millstream import delta, journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run


def orders_job(folder: Path, rows_per_epoch: int | None = 17, checkpoint: str = "checkpoint") -> ms.Job:
    """All orders as they are, and what each customer spends, without those whose sum is odd: rows come and go."""
    job = ms.Job("orders", checkpoint=str(folder / checkpoint), parallelism=2)
    source = journal.source("orders", path=str(folder / "journal"), max_rows_per_epoch=rows_per_epoch)
    orders = job.stream(source, "id BIGINT, customer INT, price DECIMAL(10, 2)")
    orders.to(delta.sink(str(folder / "orders"), partition_by="customer"))
    spending = orders.group_by("customer").agg(total="sum(price)", orders="count(*)")
    spending.where("orders % 2 = 0").to(delta.sink(str(folder / "spending")))
    return job


def start(spark: SparkSession, folder: str, mode: str) -> Run:
    modes: dict[str, ms.Mode] = {"real-time": ms.real_time("300 ms"), "micro-batch": ms.micro_batch("0 seconds")}
    return orders_job(Path(folder)).start(modes[mode], spark=spark)
