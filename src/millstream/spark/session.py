"""The Spark session: made with all that Millstream needs, or checked if the user brings one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from millstream.errors import MillstreamError
from millstream.plan.connectors import Jars
from millstream.spark import packages
from millstream.spark.launch import launch, own_interrupts

JAR = Path(__file__).resolve().parent.parent / "jars" / "millstream-kernels.jar"

REQUIRED = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # The form of saved state that real time needs: a job may go on in another mode than it began in.
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    # Kernels hand rows over whole. This rule would renumber the fields of their structs, and read the wrong ones.
    "spark.sql.optimizer.serializer.nestedSchemaPruning.enabled": "false",
    # Below inline(…) this rule adds columns to the rows that a kernel then reads by position.
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
}
"""What every query of ours runs with, whoever made the session: set on the run's own session."""

ROWS_ARE_COUNTED = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"

CHOSEN = {
    # To count a store's rows, Spark reads each one before it writes it: a good part of what state costs.
    ROWS_ARE_COUNTED: "false",
}
"""What our queries run with unless the session says otherwise."""

OWN = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.log.level": "WARN",
    "spark.sql.adaptive.enabled": "false",
    # How long a row waits in a half-filled buffer of the streaming shuffle: Spark's 50 ms are most of a row's way.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "2",
    # All on one machine: what goes through a shuffle comes from the same disk, most often from its memory.
    "spark.shuffle.compress": "false",
    "spark.shuffle.checksum.enabled": "false",
    "spark.shuffle.file.buffer": "256k",
    # A job of several stages has more than Spark's 100 pieces of generated code: each epoch would compile them anew.
    "spark.sql.codegen.cache.maxEntries": "2000",
}
"""For sessions that Millstream makes itself."""


def prepare(given: SparkSession | None, jars: tuple[Jars, ...]) -> None:
    """Brings what connectors need to Spark's class path: a job asks them about their topics before it has a session."""
    if not jars:
        return
    spark = given or SparkSession.getActiveSession()
    if spark is None:
        launch({"spark.jars": class_path(jars), **OWN, **REQUIRED})
    else:
        add(spark, jars)


def use(
    given: SparkSession | None, needed: int, parallelism: int, all_at_once: bool, jars: tuple[Jars, ...] = ()
) -> SparkSession:
    """The session to run in: the user's, the one that is there, or a new one. Settings are the run's own."""
    spark = given or SparkSession.getActiveSession()
    if spark is None:
        spark = make(needed, parallelism, {}, jars)
    check(spark)
    if all_at_once:
        check_launched(spark, jars)
    if all_at_once and slots(spark) < needed:
        raise MillstreamError(
            "MS-RUN-003",
            f"real time needs {needed} task slots, one for every task of the job, and Spark has {slots(spark)}.",
            hint=f'make the session with .master("local[{needed}]"), or lower parallelism',
        )
    own = spark.newSession()
    for name, value in {**REQUIRED, "spark.sql.shuffle.partitions": str(parallelism)}.items():
        own.conf.set(name, value)
    for name, value in CHOSEN.items():
        own.conf.set(name, spark.conf.get(name, value))
    assert own._jvm is not None
    own._jvm.millstream.rules.Rules.into(own._jsparkSession)
    return own


def make(slots: int, parallelism: int, extra: dict[str, str], jars: tuple[Jars, ...] = ()) -> SparkSession:
    """A local session with a task slot for everything that must run at once."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    own = {"spark.master": f"local[{slots}]", "spark.app.name": "millstream", "spark.jars": class_path(jars)}
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


def class_path(jars: tuple[Jars, ...]) -> str:
    """What Spark is to start with. What is installed among its own jars is left out: it is not to be fetched."""
    brought = [wanted for wanted in jars if not packages.installed(wanted)]
    return ",".join([jar(), *(str(path) for wanted in brought for path in packages.files(wanted))])


def add(spark: SparkSession, jars: tuple[Jars, ...]) -> None:
    """To a session that runs already; what its maker installed is left as it is."""
    for wanted in jars:
        if not has(spark, packages.SETS[wanted.name].sign, loader(spark)):
            for path in packages.files(wanted):
                spark._jsparkSession.sessionState().resourceLoader().addJar(str(path))


def check_launched(spark: SparkSession, jars: tuple[Jars, ...]) -> None:
    """In real time Spark's own threads read what a source reports, and they know the jars of its start alone."""
    for wanted in jars:
        if not has(spark, packages.SETS[wanted.name].sign, loader(spark).getParent()):
            raise MillstreamError(
                "MS-SETUP-006",
                f"real time needs the jars of {wanted.name} when Spark starts, and it runs without them.",
                hint=f'make the session with .config("spark.jars", "{class_path(jars)}")',
            )


def loader(spark: SparkSession) -> Any:
    """Of the jars that were added to the session; its parent is of those that Spark was started with."""
    return spark._jsparkSession.sharedState().jarClassLoader()


def has(spark: SparkSession, name: str, loader: Any) -> bool:
    jvm = spark._jvm
    assert jvm is not None
    try:
        jvm.java.lang.Class.forName(name, False, loader)
    except Exception:
        return False
    return True


def check(spark: SparkSession) -> None:
    """A session that the user made must have the kernels on its class path."""
    if not has(spark, "millstream.stage.Stage", loader(spark)):
        raise MillstreamError(
            "MS-SETUP-002",
            "the Spark session does not have Millstream's kernels on its class path.",
            hint=f'make it with .config("spark.jars", "{jar()}")',
        )


def slots(spark: SparkSession) -> int:
    return int(spark.sparkContext.defaultParallelism)
