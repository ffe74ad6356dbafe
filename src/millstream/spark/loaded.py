"""Which classes a running session has, and how it gets more: on its driver and on its executors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from millstream.errors import MillstreamError
from millstream.plan.connectors import Jars
from millstream.spark import packages
from millstream.spark.jvm import named
from millstream.spark.slots import local


def add(spark: SparkSession, jars: tuple[Jars, ...], launched: bool) -> None:
    """Adds to a running session; what its creator installed is left as it is. `launched`: in a JVM of ours."""
    for wanted in jars:
        if not has(spark, wanted.set.sign, loader(spark)):
            for path in packages.files(wanted):
                (add_launched if launched else add_later)(spark, path)


def add_launched(spark: SparkSession, path: Path) -> None:
    """As if Spark had been started with it: in real time, too, it is found there."""
    add_to_driver(loader(spark).getParent(), path)
    if not local(spark):
        spark.sparkContext._jsc.sc().addJar(str(path))


def add_to_driver(loader: Any, path: Path) -> None:
    loader.addURL(named("java.io.File")(str(path)).toURI().toURL())


def add_later(spark: SparkSession, path: Path) -> None:
    spark._jsparkSession.sessionState().resourceLoader().addJar(str(path))


def has_kernels(spark: SparkSession) -> bool:
    return has(spark, "millstream.stage.Stage", loader(spark))


def check(spark: SparkSession) -> None:
    """A session that the user made must have the kernels on its class path."""
    if not has_kernels(spark):
        raise MillstreamError(
            "MS-SETUP-002",
            "the Spark session does not have Millstream's kernels on its class path.",
            hint=f'make it with .config("spark.jars", "{packages.jar()}")',
        )


def check_launched(spark: SparkSession, jars: tuple[Jars, ...]) -> None:
    """Spark's own threads know only the jars from its start. In real time they read what a source reports."""
    for wanted in jars:
        if not has(spark, wanted.set.sign, loader(spark).getParent()):
            raise MillstreamError(
                "MS-SETUP-006",
                f"the jars of {wanted.set.name} must be there when Spark starts, and it runs without them.",
                hint=f'make the session with .config("spark.jars", "{packages.class_path(jars)}")',
            )


def loader(spark: SparkSession) -> Any:
    """Of the jars that were added to the session; its parent is of those that Spark was started with."""
    return spark._jsparkSession.sharedState().jarClassLoader()


def has(spark: SparkSession, name: str, loader: Any) -> bool:
    try:
        named("java.lang.Class").forName(name, False, loader)
    except Exception:
        return False
    return True
