"""The way of Python code to files of HDFS and of object stores: the JVM in which Spark runs."""

from __future__ import annotations

from typing import cast

from millstream.spark import jvm
from millstream.storage import remote


def bridge() -> remote.Bridge:
    return cast(remote.Bridge, jvm.named("millstream.journal.FilesForPython"))
