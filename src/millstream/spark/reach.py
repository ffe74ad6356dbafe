"""Gives Python code that runs no job access to storages of other machines, through Spark's JVM, without a session."""

from __future__ import annotations

from millstream.spark import jvm, storages, where
from millstream.spark.packages import class_path
from millstream.spark.session import prepare


def reach(address: str) -> None:
    """Starts the JVM if there is none yet, and adds the missing parts of the storage's client."""
    jars = storages.jars([address])
    prepare(None, jars, elsewhere=True)
    if any(not jvm.known(needed.set.sign) for needed in jars):
        where.add_jars({"spark.jars": class_path(jars)})
