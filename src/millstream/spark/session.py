"""The Spark session: made with all that Millstream needs, or checked if the user brings one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from millstream.errors import MillstreamError
from millstream.spark.launch import launch, own_interrupts

JAR = Path(__file__).resolve().parent.parent / "jars" / "millstream-kernels.jar"

REQUIRED = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Kernels hand rows over whole. This rule would renumber the fields of their structs, and read the wrong ones.
    "spark.sql.optimizer.serializer.nestedSchemaPruning.enabled": "false",
    # Below inline(…) this rule adds columns to the rows that a kernel then reads by position.
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
}
"""What every query of ours runs with, whoever made the session: set on the run's own session."""

OWN = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.log.level": "WARN",
    "spark.sql.adaptive.enabled": "false",
    # How long a row waits in a half-filled buffer of the streaming shuffle: Spark's 50 ms are most of a row's way.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "2",
}
"""For sessions that Millstream makes itself."""


def use(given: SparkSession | None, needed: int, parallelism: int, all_at_once: bool) -> SparkSession:
    """The session to run in: the user's, the one that is there, or a new one. Settings are the run's own."""
    spark = given or SparkSession.getActiveSession()
    if spark is None:
        spark = make(needed, parallelism, {})
    check(spark)
    if all_at_once and slots(spark) < needed:
        raise MillstreamError(
            "MS-RUN-003",
            f"real time needs {needed} task slots, one for every task of the job, and Spark has {slots(spark)}.",
            hint=f'make the session with .master("local[{needed}]"), or lower parallelism',
        )
    own = spark.newSession()
    for name, value in {**REQUIRED, "spark.sql.shuffle.partitions": str(parallelism)}.items():
        own.conf.set(name, value)
    return own


def make(slots: int, parallelism: int, extra: dict[str, str]) -> SparkSession:
    """A local session with a task slot for everything that must run at once."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    own = {"spark.master": f"local[{slots}]", "spark.app.name": "millstream", "spark.jars": jar()}
    settings = {**own, "spark.sql.shuffle.partitions": str(parallelism), **OWN, **REQUIRED, **extra}
    launch(settings)
    with own_interrupts():
        return SparkSession.builder.config(map=settings).getOrCreate()


def jar() -> str:
    if not JAR.exists():
        raise MillstreamError(
            "MS-SETUP-001",
            "the Java kernels are missing from this installation.",
            hint="install millstream again, with a JDK 17 or newer on the machine",
        )
    return str(JAR)


def check(spark: SparkSession) -> None:
    """A session that the user made must have the kernels on its class path."""
    jvm = spark._jvm
    assert jvm is not None
    try:
        jvm.java.lang.Class.forName(
            "millstream.stage.Stage", False, jvm.java.lang.Thread.currentThread().getContextClassLoader()
        )
    except Exception as error:
        raise MillstreamError(
            "MS-SETUP-002",
            "the Spark session does not have Millstream's kernels on its class path.",
            hint=f'make it with .config("spark.jars", "{jar()}")',
        ) from error


def slots(spark: SparkSession) -> int:
    return int(spark.sparkContext.defaultParallelism)
