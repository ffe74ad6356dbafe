"""The job under test: `python -m soak.job FOLDER`. It reads where everything is from FOLDER/places.json.

orders (Kafka) ─┬─▶ every (Kafka), files (JSON)        each order once
                └─▶ totals ─┐
customers (Postgres, CDC) ──┴─▶ named (Postgres)       kept right as both change
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from pathlib import Path

import millstream as ms
from millstream import files, kafka, postgres
from millstream.plan.connectors import Jars
from millstream.spark import session
from millstream.spark.memory import QUICK
from soak.places import Saved

RESTARTS = ms.exponential_delay(first="200 ms", most="1 second", calm="5 seconds")


@dataclass(frozen=True)
class Places(Saved):
    """Where the job finds its servers, all of them behind a proxy, and its folders."""

    kafka: str
    postgres: str
    checkpoint: str
    files: str


def job(places: Places) -> ms.Job:
    made = ms.Job("soak", checkpoint=places.checkpoint, parallelism=2)
    source = kafka.source("orders", servers=places.kafka, max_rows_per_epoch=5000)
    orders = made.stream(source, "id BIGINT, customer INT, price INT")
    changes = postgres.changes("customers", address=places.postgres, publication="customers")
    customers = made.table(changes, schema="id INT, name STRING", key="id")
    orders.to(kafka.sink("every", servers=places.kafka))
    orders.to(files.sink(places.files, format="json"), name="files")
    totals = orders.group_by("customer").agg(orders="count(*)", total="sum(price)")
    named = totals.as_("t").join(customers.as_("c"), on="t.customer = c.id")
    chosen = named.select("t.customer", "c.name", "t.orders", "t.total", id="c.id")
    chosen.to(postgres.sink("named", address=places.postgres))
    return made


def main(folder: str) -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    # What Spark keeps for itself is in the folder, too: a process that is killed cannot delete it.
    spark = session.make(4, 2, {**QUICK, "spark.local.dir": folder}, (Jars(kafka.JARS),))
    job(Places.load(Path(folder))).run(ms.micro_batch("200 ms"), restarts=RESTARTS, spark=spark)


if __name__ == "__main__":
    main(*sys.argv[1:])
