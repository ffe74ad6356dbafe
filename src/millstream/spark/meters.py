"""What is counted in one run: by the kernels, and by Python functions in Spark's workers."""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.accumulators import Accumulator
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.spark import jvm

NAME = "millstream.run"
"""The setting of a session that says which run it belongs to. See Meters.java."""

RUNNING: dict[str, Meters] = {}
"""By the run's own name, never by a job's or step's."""


class Meters:
    """One for each run, over all its starts."""

    def __init__(self, spark: SparkSession) -> None:
        self._kernels = jvm.named("millstream.metrics.Meters").open(spark._jsparkSession)
        self._application = spark.sparkContext.applicationId
        self._skipped: dict[str, list[Accumulator[int]]] = defaultdict(list)
        self.name = str(self._kernels.name())
        RUNNING[self.name] = self

    def count_in(self, spark: SparkSession) -> bool:
        """Whether Spark is the one that they were opened in, and has not been started again since."""
        return bool(spark.sparkContext.applicationId == self._application)

    def into(self, spark: SparkSession) -> None:
        """What is lowered in this session from now on is counted here."""
        self._kernels.into(spark._jsparkSession)

    def begin(self, committed: int) -> None:
        """A run continues after this epoch: what it counted later, it will count again."""
        self._kernels.begin(committed)

    def follow(self, query: StreamingQuery) -> None:
        self._kernels.follow(query._jsq)

    def skips(self, step: str, counter: Accumulator[int]) -> None:
        self._skipped[step].append(counter)

    def skipped(self) -> dict[str, int]:
        """For each Python function, the rows on which it failed, where it skips them."""
        return {step: sum(counter.value for counter in counters) for step, counters in self._skipped.items()}

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._kernels.read())
        return found

    def rows(self) -> dict[str, Any]:
        """By box of the job's graph, a few of the rows that passed lately; none, unless the session shows them."""
        found: dict[str, Any] = json.loads(self._kernels.rows())
        return {box: kept["lines"] for box, kept in found.items()}

    def close(self) -> None:
        """Nothing is counted any more. What was can still be read."""
        RUNNING.pop(self.name, None)
        with suppress(Py4JError, ConnectionError):  # Spark's process may have died, which is told by others
            self._kernels.close()


def counter(spark: SparkSession, step: str) -> Accumulator[int]:
    """For the rows that a Python function skips."""
    made = spark.sparkContext.accumulator(0)
    meters = RUNNING.get(spark.conf.get(NAME, "") or "")
    if meters is not None:
        meters.skips(step, made)
    return made
