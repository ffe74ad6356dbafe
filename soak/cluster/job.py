"""The job that is tried on a cluster: `python -m soak.cluster.job FOLDER`. FOLDER/places.json says where everything is.

orders (Kafka) ─┬─▶ every (Kafka)                       each order once
                ├─▶ files (JSON), on the storage that the checkpoint is not on
                └─▶ totals (Kafka)                      the state of each customer
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, field
from pathlib import Path

import millstream as ms
from millstream import files, kafka
from millstream.plan.modes import MicroBatch, RealTime
from soak.job import RESTARTS
from soak.places import Saved

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=128m"
SETTINGS = {
    "spark.driver.memory": "700m",
    "spark.executor.memory": "600m",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
    # Small epochs on executors that do not live long: interpreting queries is quicker than compiling them.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # An executor that hangs is given up after ten seconds; by default after two minutes.
    "spark.network.timeout": "10s",
    "spark.network.timeoutInterval": "2s",
    # A request of S3 that is not answered is given up after five seconds; by default after 200.
    "spark.hadoop.fs.s3a.connection.timeout": "5s",
    "spark.hadoop.fs.s3a.connection.establish.timeout": "5s",
}


@dataclass(frozen=True)
class Places(Saved):
    """Where the job finds its servers and its folders."""

    master: str
    kafka: str
    checkpoint: str
    files: str
    settings: dict[str, str] = field(repr=False)
    """Of Spark: how S3 is reached."""
    mode: str = "micro-batch"


MODES: dict[str, MicroBatch | RealTime] = {
    "micro-batch": ms.micro_batch("500 ms"),
    "real-time": ms.real_time("2 seconds"),
}


def job(places: Places) -> ms.Job:
    made = ms.Job("soak", checkpoint=places.checkpoint, parallelism=2)
    source = kafka.source("orders", servers=places.kafka, max_rows_per_epoch=5000)
    orders = made.stream(source, "id BIGINT, customer INT, price INT")
    orders.to(kafka.sink("every", servers=places.kafka))
    orders.to(files.sink(places.files, format="json"), name="files")
    totals = orders.group_by("customer").agg(orders="count(*)", total="sum(price)")
    totals.to(kafka.sink("totals", servers=places.kafka))
    return made


def main(folder: str) -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    places = Places.load(Path(folder))
    settings = {**SETTINGS, **places.settings, "spark.local.dir": folder}
    cluster = ms.cluster(places.master, conf=settings, slots_within="2 minutes")
    job(places).run(MODES[places.mode], restarts=RESTARTS, on=cluster)


if __name__ == "__main__":
    main(*sys.argv[1:])
