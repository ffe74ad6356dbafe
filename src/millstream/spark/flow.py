"""Whether rows of a run flow one by one, as in real time, and how Python code learns of it."""

from __future__ import annotations

from pyspark.sql import SparkSession

FLOWS = "millstream.flows"
"""The setting of a run's own session that says so. It is made before the job is lowered."""
WAIT = "spark.millstream.python.wait"
"""How many milliseconds rows may wait for others with which they go to Python."""
SETTINGS = {WAIT: "5"}
"""The default, unless the session says otherwise."""


def let_flow(spark: SparkSession) -> None:
    spark.conf.set(FLOWS, "true")


def flows(spark: SparkSession) -> bool:
    return spark.conf.get(FLOWS, "false") == "true"


def longest_wait_ms(spark: SparkSession) -> int:
    return int(spark.conf.get(WAIT, None) or SETTINGS[WAIT])
