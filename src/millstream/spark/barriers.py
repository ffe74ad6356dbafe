"""Whether barriers flow with the rows of a run, and what sends them."""

from __future__ import annotations

import logging
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millstream.plan.modes import Mode, RealTime
from millstream.spark import jvm
from millstream.spark.target import Target

LOG = logging.getLogger("millstream")
WANTED = "spark.millstream.barriers"
"""The setting of a session that lets real time run with barriers."""
PATIENCE = "spark.millstream.barriers.patience"
"""How many milliseconds a barrier may take to come through."""
SETTINGS = {WANTED: "false", PATIENCE: "600000"}
"""What holds unless the session says otherwise."""
FOREVER_MS = 10 * 365 * 86_400_000
"""How long the one batch of such a run lasts. In the log of Spark it does not end."""


def flow(mode: Mode, target: Target, spark: SparkSession) -> bool:
    """Whether a run does not pause between epochs. If it must, the log says why."""
    if not isinstance(mode, RealTime) or spark.conf.get(WANTED) != "true":
        return False
    why = missing(spark)
    if why is not None:
        LOG.warning('job "%s" pauses between epochs, for barriers cannot flow: %s', target.job, why)
    return why is None


def missing(spark: SparkSession) -> str | None:
    """Why barriers cannot flow; None: they can."""
    why = jvm.named("millstream.barrier.Hooks").missing(spark._jsparkSession)
    return None if why is None else str(why)


def coordinator(mode: RealTime, target: Target, spark: SparkSession) -> Any:
    """For a query that is about to be started."""
    patience = int(spark.conf.get(PATIENCE) or SETTINGS[PATIENCE])
    made = jvm.named("millstream.barrier.Coordinator").of
    return made(spark._jsparkSession, target.job, mode.checkpoint_every_ms, patience)


def with_barriers(frame: DataFrame) -> DataFrame:
    """The same rows, whose sources let barriers pass."""
    return DataFrame(jvm.named("millstream.barrier.BarrierSource").into(frame._jdf), frame.sparkSession)
