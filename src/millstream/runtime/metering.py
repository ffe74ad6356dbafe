"""The metrics of a run, over all its starts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from millstream.metrics.model import EpochMetrics, Metrics
from millstream.metrics.reading import Reading, metrics, read_epoch
from millstream.plan.node import Stateful, walk
from millstream.plan.python import Call, Process
from millstream.plan.received import ReceptionFigures
from millstream.planner.stages import JobPlan
from millstream.spark.meters import Meters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.carry import Carriage
    from millstream.spark.query import Query

NOTHING = {
    "sources": {},
    "operators": {},
    "sinks": {},
    "watermarks": {},
    "epochs": {"ended": 0, "last": None, "rows": {}, "millis": {}, "written": 0},
    "prepared": -1,
}
"""Before the first start, and in batch mode, which has no epochs. See Meters.java."""


class Metering:
    """Keeps the figures of a run: they continue when it restarts, and stay when it has ended."""

    def __init__(self, plan: JobPlan) -> None:
        self._plan = plan
        self._meters: Meters | None = None
        self._query: Query | None = None
        self._carriage: Carriage | None = None
        self.received: dict[str, ReceptionFigures] = {}
        """By source, what its receivers count."""

    def into(self, spark: SparkSession) -> None:
        """Before the job is lowered in this session. If Spark itself was restarted, figures start again."""
        if self._meters is not None and not self._meters.count_in(spark):
            self._meters = None
        self._meters = self._meters or Meters(spark)
        self._meters.into(spark)

    def begin(self, committed: list[int]) -> None:
        """At each start: rows of epochs that are not committed are read again, and count once."""
        assert self._meters is not None
        self._meters.begin(max(committed, default=-1))

    def follow(self, query: Query, carriage: Carriage) -> None:
        assert self._meters is not None
        self._query, self._carriage = query, carriage
        self._meters.follow(query.query)

    def read(self, job: str, state: str, restarts: int) -> Metrics:
        query = self._query
        published = query.published() if query else -1
        reading = Reading(
            figures=self._meters.read() if self._meters else NOTHING,
            functions=self._meters.skipped() if self._meters else {},
            times=query.times() if query else {},
            held_back_by=query.held_back_by() if query else None,
            published=published,
            counts_state=query is not None and query.counts_rows,
            carried=self._carriage.arrived(published) if self._carriage else {},
            received=self.received,
        )
        return metrics(job, state, restarts, self._plan, reading)

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        return self._meters.rows() if self._meters else {}

    def epochs(self, after: int) -> list[EpochMetrics]:
        """Those that have ended since, as far as Spark remembers them."""
        last = self._meters.read()["epochs"]["last"] if self._meters else None
        if self._query is None or not last or (newest := read_epoch(json.loads(last))).epoch <= after:
            return []
        if newest.epoch == after + 1:
            return [newest]
        told = {newest.epoch: newest}
        told |= {found.epoch: found for found in map(read_epoch, self._query.reports(newest.epoch - after))}
        return [told[number] for number in sorted(told) if number > after]

    def close(self) -> None:
        if self._meters is not None:
            self._meters.close()


def late(plan: JobPlan, now: Metrics) -> dict[str, int]:
    """Of the steps that drop late rows."""
    steps = [op for stage in plan.stages for op in stage.operators if isinstance(op, Stateful)]
    return {step.name: now.operator(step.name).late for step in steps if step.drops_late}


def skipped(plan: JobPlan, now: Metrics) -> dict[str, int]:
    """Of the sources that skip records they cannot read, and the steps that skip rows their Python code fails on."""
    sources = {part.name: now.source(part.name).skipped for part in plan.sources if part.options.on_error == "skip"}
    counts = {part.name: part.skipped for part in now.functions} | {part.name: part.skipped for part in now.operators}
    code = [node for node in walk(plan.flow) if isinstance(node, Call | Process)]
    return sources | {node.name: counts[node.name] for node in code if node.on_error == "skip"}
