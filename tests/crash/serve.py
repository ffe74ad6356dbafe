"""A job's process that runs the job on request, in one JVM: `serve.py MODULE`, with lines of JSON on stdin.

A list begins a run: the arguments of the module's `start`. `"stop"` ends it. One line goes out when a run has ended:
null, or its error.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any

from millstream.connectors import Jars, jar_set
from millstream.errors import MillstreamError
from millstream.spark import session
from millstream.spark.memory import rest, unload_state
from millstream.testing.faults import MANAGER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run

SLOTS = 8
STOP = "stop"
SETTINGS, CONNECTORS = "MILLSTREAM_TEST_SETTINGS", "MILLSTREAM_TEST_CONNECTORS"
"""In the environment: settings of Spark as JSON, and the names of connectors whose jars it needs."""


def main(module: str, scratch: str) -> None:
    # What the job prints goes to the log: stdout is for answers alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    job: Any = importlib.import_module(module)
    java = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m -Djava.io.tmpdir={scratch}"
    settings = {"spark.driver.extraJavaOptions": java, "spark.local.dir": scratch}
    more = json.loads(os.environ.get(SETTINGS, "{}"))
    jars = tuple(Jars(jar_set(name)) for name in os.environ.get(CONNECTORS, "").split())
    spark = session.make(SLOTS, 2, {**MANAGER, **settings, **more}, (*getattr(job, "JARS", ()), *jars))
    told: Queue[Any] = Queue()
    threading.Thread(target=listen, args=[told], daemon=True).start()
    while (arguments := told.get()) is not None:
        if arguments != STOP:  # one that came when the run had ended by itself
            answers.write(json.dumps(ran(job, arguments, spark, told)) + "\n")
            answers.flush()


def listen(told: Queue[Any]) -> None:
    for line in sys.stdin:
        told.put(json.loads(line))
    told.put(None)


def ran(job: Any, arguments: list[str], spark: SparkSession, told: Queue[Any]) -> str | None:
    """Leaves nothing of the run in the process: the next one only has what is on the disk."""
    try:
        run: Run = job.start(spark, *arguments)
        while not run.poll(0.02) and not stopped(told):
            pass
        run.stop()
    except MillstreamError as error:
        return error.text()
    finally:
        rest(spark)
        unload_state(spark)
    return None


def stopped(told: Queue[Any]) -> bool:
    try:
        return told.get_nowait() in (STOP, None)
    except Empty:
        return False


if __name__ == "__main__":
    main(*sys.argv[1:])
