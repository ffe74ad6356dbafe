"""What listens to a query beside it, until the query is closed."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.plan.connectors import HasListeners
from millstream.planner.stages import JobPlan
from millstream.spark import jvm


def listen(listener: Any, spark: SparkSession, opened: ExitStack) -> None:
    streams = spark._jsparkSession.streams()
    streams.addListener(listener)
    opened.callback(streams.removeListener, listener)


def listen_for_sources(
    plan: JobPlan, job: str, query: StreamingQuery, spark: SparkSession, opened: ExitStack
) -> list[Any]:
    """The listeners that sources ask for."""
    made = []
    for place, source in enumerate(plan.sources):
        if isinstance(source.options, HasListeners):
            for wanted in source.options.listeners(job, source.name):
                listener = jvm.named(wanted.java_class)(query.id, place, *wanted.arguments)
                opened.callback(finish, listener, query)
                listen(listener, spark, opened)
                made.append(listener)
    return made


def finish(listener: Any, query: StreamingQuery) -> None:
    """Reports the last epoch, whose progress may not have arrived yet."""
    listener.finish(query._jsq.lastProgress())
