"""Whether barriers flow with the rows of a run, and what sends them."""

from __future__ import annotations

import logging
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millstream.plan.checkpoints import Checkpoints
from millstream.plan.modes import Mode, RealTime
from millstream.spark import jvm, loaded
from millstream.spark.target import Target

LOG = logging.getLogger("millstream")
WANTED = "spark.millstream.barriers"
"""The setting of a session that lets real time run with barriers."""
PATIENCE = "spark.millstream.barriers.patience"
"""How many milliseconds a barrier may take to come through."""
SETTINGS = {WANTED: "true", PATIENCE: "600000"}
"""The default, unless the session says otherwise."""
DELTAS = "spark.sql.streaming.stateStore.minDeltasForSnapshot"
SPARSE = "100"
"""How many epochs save only their changes before one saves a snapshot of all state, which the task waits for."""
FOREVER_MS = 10 * 365 * 86_400_000
"""How long the one batch of such a run lasts. In the log of Spark it does not end."""


def pausing(spark: SparkSession) -> str | None:
    """Why real time has to pause between epochs; None: barriers can flow."""
    if spark.conf.get(WANTED, SETTINGS[WANTED]) != "true":
        return f"the session has {WANTED} = false"
    why = jvm.named("millstream.barrier.Hooks").missing(spark._jsparkSession)
    return None if why is None else str(why)


def pauses(mode: Mode, target: Target, spark: SparkSession) -> str | None:
    """The same for a run; it is logged."""
    why = pausing(spark) if isinstance(mode, RealTime) else None
    if why is not None:
        LOG.warning('job "%s" pauses between epochs: %s', target.job, why)
    return why


def in_explain() -> str | None:
    """The same for the current session, if there is one and it can run jobs."""
    spark = SparkSession.getActiveSession()
    return pausing(spark) if spark is not None and loaded.has_kernels(spark) else None


def coordinator(mode: RealTime, target: Target, policy: Checkpoints, history: Any, spark: SparkSession) -> Any:
    """For a query that is about to be started."""
    patience = int(spark.conf.get(PATIENCE) or SETTINGS[PATIENCE])
    if spark.conf.get(DELTAS, None) is None:
        spark.conf.set(DELTAS, SPARSE)
    sent = jvm.named("millstream.barrier.Coordinator")
    pace = jvm.named("millstream.barrier.Coordinator$Pace")
    every = pace(mode.checkpoint_every_ms, policy.pause_ms, patience, policy.tolerate)
    return sent.of(spark._jsparkSession, target.job, every, history)


def with_barriers(frame: DataFrame) -> DataFrame:
    """The same rows, whose sources let barriers pass."""
    return DataFrame(jvm.named("millstream.barrier.BarrierSource").into(frame._jdf), frame.sparkSession)
