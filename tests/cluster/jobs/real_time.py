"""The same in real time, on the cluster that is named, until there is a file `stop`."""

from __future__ import annotations

import sys
from pathlib import Path

from match import match_job  # type: ignore[import-not-found]  # beside this script

import millstream as ms

# Spark puts its own options before these.
SETTINGS = {"spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
run = match_job().start(
    ms.real_time("500 ms"),
    restarts=ms.fixed_delay(attempts=30, delay="200 ms"),
    on=ms.cluster(sys.argv[1], shared_disk=True, slots_within="30 seconds", conf=SETTINGS),
)
print(f"running, pauses: {run.pauses}", flush=True)
while not Path("stop").exists():
    run.poll(0.1)
run.stop()
print(run.state.value, *sorted({failure.error.code for failure in run.failures}))
