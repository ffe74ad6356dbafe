"""Orders of a queue, fetched by two receivers on the cluster that is named, until there is a file `stop`."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import millstream as ms
from millstream import journal, rabbitmq

master, queue, mode = sys.argv[1:4]
logging.basicConfig(level=logging.WARNING)
logging.getLogger("millstream").setLevel(logging.INFO)
job = ms.Job("orders", parallelism=1, shared_disk=True)
orders = job.stream(rabbitmq.source(queue, receivers=2, prefetch=100), "n BIGINT", name="orders")
orders.to(journal.sink("out"))
SETTINGS = {"spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
SETTINGS |= dict(pair.split("=", 1) for pair in sys.argv[4:])
try:
    run = job.start(
        ms.real_time("500 ms") if mode == "real-time" else ms.micro_batch("500 ms"),
        restarts=ms.fixed_delay(attempts=30, delay="200 ms"),
        on=ms.cluster(master, slots_within="60 seconds", conf=SETTINGS),
    )
except ms.MillstreamError as error:
    print(error.text().replace("\n", " | "))
    sys.exit()
print("running", flush=True)
while not Path("stop").exists():
    run.poll(0.1)
run.stop()
print(run.state.value, *sorted({failure.error.code for failure in run.failures}))
