"""The shared Spark, set up for the journal's own tests: epochs may be short, and checkpoints may fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.sql.streaming.realTimeMode.minBatchDuration": "500ms",
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    "spark.sql.streaming.realTimeMode.asyncProgressTrackingByDefault.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": "millstream.faults.FaultyCheckpoints",
}


@pytest.fixture(scope="module")
def spark(spark: SparkSession) -> SparkSession:
    """Its own session in the Spark that all tests share."""
    session = spark.newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return session
