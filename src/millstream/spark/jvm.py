"""Classes of Spark's JVM by their names."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext


def named(name: str) -> Any:
    """A class: `java.lang.Thread`.

    It is asked for as a whole. Asked for part by part, each of its packages would be looked for as a class, in all of
    Spark's jars.
    """
    jvm: Any = SparkContext._jvm
    assert jvm is not None, "the session was not prepared"
    return getattr(jvm, name)


def gone() -> bool:
    """Whether Spark's JVM was there, and has ended: this process can do nothing more."""
    if SparkContext._gateway is None:
        return False
    try:
        named("java.lang.System").nanoTime()
    except Exception:
        return True
    return False


def known(name: str) -> bool:
    """Whether this thread's class loader has such a class."""
    try:
        named("java.lang.Class").forName(name, False, named("java.lang.Thread").currentThread().getContextClassLoader())
    except Exception:
        return False
    return True
