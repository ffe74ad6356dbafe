"""Where a session that Millstream makes runs, and with which settings.

Chosen by the user, by spark-submit or by Spark's own files; otherwise this machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from millstream.errors import MillstreamError
from millstream.plan.cluster import Cluster, is_local
from millstream.plan.connectors import Jars
from millstream.spark.jvm import named
from millstream.spark.launch import JAVA
from millstream.spark.loaded import add_to_driver
from millstream.spark.packages import class_path
from millstream.storage import absolute

REQUIRED = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # The form of saved state that real time needs: a job may continue in another mode than it began in.
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    # Kernels hand rows over whole. This rule would renumber the fields of their structs, and read the wrong ones.
    "spark.sql.optimizer.serializer.nestedSchemaPruning.enabled": "false",
    # Below inline(…) this rule adds columns to the rows that a kernel then reads by position.
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
}
"""Settings of all our queries, even in a session of the user's: set on the run's own session."""

OWN = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.log.level": "WARN",
    # How often executors tell what their running tasks have counted: in real time a task lasts as long as an epoch.
    "spark.executor.heartbeatInterval": "1s",
    # A tenth of Spark's own interval: ten times as many may fail before an executor gives up.
    "spark.executor.heartbeat.maxFailures": "600",
    "spark.sql.adaptive.enabled": "false",
    # How long a row waits in a half-filled buffer of the streaming shuffle: Spark's 50 ms are most of a row's way.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "2",
    # Spark's streaming shuffle, through which barriers can flow. It can only be chosen when Spark starts.
    "spark.shuffle.manager.incremental": "millstream.barrier.BarrierShuffle",
    # A job of several stages has more than Spark's 100 pieces of generated code: each epoch would compile them again.
    "spark.sql.codegen.cache.maxEntries": "2000",
    "spark.executor.extraJavaOptions": JAVA,
}
"""For sessions that Millstream makes itself, unless the user, spark-submit or Spark's own files say otherwise."""

ALWAYS = {"spark.app.name": "millstream", "spark.ui.showConsoleProgress": "false"}
"""Spark sets these by itself, as if they had been chosen."""

ONE_MACHINE = {
    # What goes through a shuffle comes from the same disk, most often from its memory.
    "spark.shuffle.compress": "false",
    "spark.shuffle.checksum.enabled": "false",
    "spark.shuffle.file.buffer": "256k",
}

MADE = "spark.millstream.made"
OURS = {MADE: "true"}
"""The mark of a session that Millstream made for a job, and may make again with more slots. A session of the user's, or
one that a test holds, stays as it is."""

ENVIRONMENT = "environment"
"""The folder of an executor in which the archive of `millstream pack` is unpacked."""
PYTHON = "spark.pyspark.python"
MERGED = ("spark.jars", "spark.archives")
"""Settings to which we add."""
SUPPLEMENTED = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
"""Settings before whose value Spark puts options of its own."""


def at_launch(on: Cluster, jars: tuple[Jars, ...], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """What the JVM is started with: jars, the size of its memory. The rest is set when the session is created.

    No local master: Spark's own word for it, `local[*]`, shows later that none was chosen.
    """
    chosen = {**on.settings, **(extra or {})}
    master = on.master or chosen.pop("spark.master", None)
    named_master = {"spark.master": master} if master and not is_local(master) else {}
    return {**chosen, **named_master, "spark.jars": together(chosen.get("spark.jars"), class_path(jars))}


def submitted() -> str | None:
    """The master that spark-submit or Spark's own files name; None if they name none."""
    master = said().get("spark.master")
    return None if master == "local[*]" else master


def said() -> dict[str, str]:
    """The settings that the JVM was started with, whoever started it."""
    return dict(SparkConf().getAll())


def settings(master: str, on: Cluster, parallelism: int, jars: tuple[Jars, ...]) -> dict[str, str]:
    """All that a session is made with."""
    there = said()
    ours = {**OWN, **(ONE_MACHINE if is_local(master) else {})}
    return {
        **{name: value for name, value in ours.items() if name not in there},
        **ALWAYS,
        "spark.sql.shuffle.partitions": str(parallelism),
        **REQUIRED,
        **on.settings,
        **({} if is_local(master) else environment(on, there)),
        "spark.master": master,
        "spark.jars": one_of_a_name(there.get("spark.jars"), on.settings.get("spark.jars"), class_path(jars)),
    }


def fits(spark: SparkSession, on: Cluster) -> bool:
    """Whether a session is what was chosen."""
    conf = spark.sparkContext.getConf()
    archived = on.environment is None or f"#{ENVIRONMENT}" in (conf.get("spark.archives") or "")
    return (
        on.master in (None, spark.sparkContext.master)
        and archived
        and all(same(name, value, conf.get(name)) for name, value in on.settings.items() if name not in MERGED)
    )


def same(name: str, wanted: str, found: str | None) -> bool:
    return found == wanted or (name in SUPPLEMENTED and found is not None and found.endswith(wanted))


def environment(on: Cluster, there: Mapping[str, str]) -> dict[str, str]:
    """The archive with Python and its packages, on its way to executors."""
    if on.environment is None:
        return {}
    path = absolute(on.environment)
    if "://" not in path and not Path(path).is_file():
        raise MillstreamError(
            "MS-CLUSTER-007",
            f"there is no environment archive {on.environment}.",
            hint=f"make it: millstream pack -o {on.environment}",
        )
    archives = together(there.get("spark.archives"), on.settings.get("spark.archives"), f"{path}#{ENVIRONMENT}")
    return {"spark.archives": archives, PYTHON: f"./{ENVIRONMENT}/bin/python"}


def together(*lists: str | None) -> str:
    """Comma-separated lists as one, without duplicates."""
    return ",".join(dict.fromkeys(part for one in lists if one for part in one.split(",") if part))


def one_of_a_name(*lists: str | None) -> str:
    """Executors take one jar of each name. What spark-submit has sent along to a driver is installed there as well."""
    kept: dict[str, str] = {}
    for jar in together(*lists).split(","):
        kept.setdefault(jar.rsplit("/", 1)[-1], jar)
    return ",".join(kept.values())


def add_jars(settings: Mapping[str, str]) -> None:
    """To a driver that was started without them, as spark-submit starts it. Executors fetch what is in the settings."""
    loader: Any = named("java.lang.Thread").currentThread().getContextClassLoader()
    if not str(loader.getClass().getName()).endswith("URLClassLoader"):  # Spark was started with them, or by others
        return
    known = {str(url.getPath()) for url in loader.getURLs()}
    for jar in settings["spark.jars"].split(","):
        if jar.startswith("/") and jar not in known:
            add_to_driver(loader, Path(jar))


def set_python() -> None:
    """Executors run the Python that this process runs, unless another is set."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def use_python(spark: SparkSession) -> None:
    """Spark's own setting, which it uses only under spark-submit."""
    wanted = spark.sparkContext.getConf().get(PYTHON)
    if wanted is not None:
        spark.sparkContext.pythonExec = wanted


def remote() -> str | None:
    """The variables that would make pyspark create a session of Spark Connect. An address may hold a token."""
    if SparkContext._active_spark_context is not None:
        return None
    if is_remote():
        return "the session"
    return "the address in SPARK_REMOTE" if os.environ.get("SPARK_REMOTE") else None
