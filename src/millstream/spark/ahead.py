"""Checks before anything is started: what a cluster expects on this machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pyspark import SparkContext
from pyspark.find_spark_home import _find_spark_home

from millstream.plan.cluster import Cluster
from millstream.spark import kubernetes, yarn
from millstream.spark.where import said

SEPARATOR = re.compile(r"\s*[=:]\s*|\s+")


def check(on: Cluster, driver_too: bool = False) -> None:
    """`driver_too`: the driver runs there as well. What spark-submit starts, it checks itself."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    known = {**(from_file() if SparkContext._gateway is None else said()), **on.settings}
    master = on.master or known.get("spark.master") or ""
    if master == "yarn":
        yarn.check(known)
    elif master.startswith(kubernetes.SCHEME):
        kubernetes.check(master, known, driver_too)


def from_file() -> dict[str, str]:
    """What Spark's own file of settings says, read as Spark does."""
    folder = os.environ.get("SPARK_CONF_DIR") or f"{_find_spark_home()}/conf"
    file = Path(folder) / "spark-defaults.conf"
    lines = (line.strip() for line in (file.read_text().splitlines() if file.is_file() else ()))
    pairs = (SEPARATOR.split(line, maxsplit=1) for line in lines if line and not line.startswith(("#", "!")))
    return {pair[0]: pair[1].strip() if len(pair) > 1 else "" for pair in pairs}
