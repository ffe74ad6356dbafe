"""A test's memory inside the JVM: what its sources are given, what its sinks keep."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from millstream.plan.connectors import Jars
from millstream.spark import session

QUICK = {
    # A test's queries are short: the second, slow compiler of the JVM never pays off.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
    # Many small queries, each asked once: interpreting them is quicker than compiling them.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def quick(settings: dict[str, str], connectors: tuple[str, ...] = ()) -> SparkSession:
    """The session that is there, or one for many small runs, with the jars of some connectors."""
    jars = tuple(Jars(name) for name in connectors)
    return SparkSession.getActiveSession() or session.make(4, 1, {**QUICK, **settings}, jars)


class Memory:
    """What belongs to one test, by its name."""

    def __init__(self, test: str, spark: SparkSession) -> None:
        self.spark = spark
        self._test = test
        jvm: Any = spark._jvm
        self._given = jvm.millstream.testing.Given
        self._sinks = jvm.millstream.sink.MemorySink

    def give(self, script: str) -> None:
        self._given.put(self._test, script)

    def until(self, step: int) -> None:
        """Lets a run come so far."""
        self._given.until(self._test, step)

    def take(self, place: str) -> str:
        """What a sink kept, which is then forgotten."""
        return str(self._sinks.take(place))

    def forget(self) -> None:
        self._given.remove(self._test)


def rest(spark: SparkSession) -> None:
    """Until no task runs any more: those of a query that was stopped write for a while yet."""
    jvm: Any = spark._jvm
    tracker: Any = spark.sparkContext._jsc.sc().statusTracker()
    while any(executor.numRunningTasks() for executor in tracker.getExecutorInfos()):
        jvm.java.lang.Thread.sleep(10)


def unload_state(spark: SparkSession) -> None:
    """Forgets all state that queries of this process have had: the next one has what is in its checkpoint."""
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()
