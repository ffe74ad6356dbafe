"""A job that copies numbers from a stream to another one, to be killed: see `crash/serve.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import millstream as ms
from millstream import rabbitmq
from millstream.connectors import Jars
from tests.reception.copy_job import MODES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.run import Run

JARS = (Jars(rabbitmq.JARS),)


def start(spark: SparkSession, folder: str, source: str, out: str, server: str, mode: str) -> Run:
    job = ms.Job("copy", checkpoint=f"{folder}/checkpoint", parallelism=1)
    numbers = job.stream(rabbitmq.stream_source(source, server=server), "n BIGINT", name="numbers")
    numbers.to(rabbitmq.stream_sink(out, server=server))
    return job.start(MODES[mode], restarts=ms.fixed_delay(100, "200 ms"), spark=spark)
