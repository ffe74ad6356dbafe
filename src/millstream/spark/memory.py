"""A test's memory inside the JVM: what its sources give, and what its sinks keep."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from millstream.plan.connectors import Jars
from millstream.spark import jvm, session

QUICK = {
    # A test's queries are short: the second, slow compiler of the JVM never pays off.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
    # Many small queries, each asked once: interpreting them is quicker than compiling them.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}

# The thread of a task that runs. Spark's own counts come late, or belong to tasks that never began.
BUSY = "Executor task launch worker for task"
EMPTY_EPOCHS = "spark.sql.streaming.noDataMicroBatches.enabled"


def quick(settings: dict[str, str], jars: tuple[Jars, ...] = ()) -> SparkSession:
    """The current session, or one for many small runs, with the jars of some connectors."""
    return SparkSession.getActiveSession() or session.make(4, 1, {**QUICK, **settings}, jars)


class Memory:
    """What belongs to one test, by its name."""

    def __init__(self, test: str, spark: SparkSession) -> None:
        self.spark = spark
        self._test = test
        self._given = jvm.named("millstream.testing.Given")
        self._sinks = jvm.named("millstream.sink.MemorySink")

    def give(self, script: str) -> None:
        self._given.put(self._test, script)

    def until(self, step: int) -> None:
        """Lets a run come to this step."""
        self._given.until(self._test, step)

    def take(self, place: str) -> str:
        """What a sink kept, which is then forgotten."""
        return str(self._sinks.take(place))

    def forget(self) -> None:
        self._given.remove(self._test)


def rest(spark: SparkSession) -> None:
    """Waits until no task runs any more: those of a stopped query still write for a while."""
    threads = jvm.named("java.lang.Thread")
    while any(str(thread.getName()).startswith(BUSY) for thread in threads.getAllStackTraces().keySet()):
        threads.sleep(10)


def unload_state(spark: SparkSession) -> None:
    """Forgets all state that queries of this process have had, and where they were in journals: the next one has what
    is in its checkpoint."""
    jvm.named("org.apache.spark.sql.execution.streaming.state.StateStore").stop()
    jvm.named("millstream.journal.Positions").forget()


@contextmanager
def without_empty_epochs(spark: SparkSession) -> Iterator[None]:
    """Runs that begin inside end with the last epoch that has rows, and leave what a kill right after its commit does:
    the epoch that follows because time has moved on is yet to come."""
    conf: Any = spark._jsparkSession.sparkContext().conf()
    conf.set(EMPTY_EPOCHS, "false")
    try:
        yield
    finally:
        conf.set(EMPTY_EPOCHS, "true")
