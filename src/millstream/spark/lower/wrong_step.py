"""Finds the step that Spark refuses, only after it does, by lowering steps one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from millstream.errors import MillstreamError
from millstream.plan.node import Node, walk
from millstream.plan.nodes import Source
from millstream.planner.stages import JobPlan
from millstream.spark.lower import source as sources
from millstream.spark.lower.batch import Batch


@contextmanager
def naming_steps(plan: JobPlan, spark: SparkSession) -> Iterator[None]:
    """Errors that Spark raises in here name the step that they are in."""
    try:
        yield
    except AnalysisException as error:
        found = wrong_step(plan, spark)
        if found is None:
            raise
        raise refused(*found) from error


def wrong_step(plan: JobPlan, spark: SparkSession) -> tuple[Node, AnalysisException] | None:
    """The first step that Spark refuses over rows that it accepts."""
    batch = Batch(spark, (), lambda source: None, 0)
    for node in walk(plan.flow):
        try:
            if isinstance(node, Source):
                batch.made[node] = sources.stream(node, spark)
            batch.rows(node)
        except AnalysisException as error:
            return node, error
        except Exception:
            return None
    return None


def refused(node: Node, error: AnalysisException) -> MillstreamError:
    said = str(error).splitlines()[0].split(" SQLSTATE:")[0]
    if said.startswith("["):
        said = said.split("] ", 1)[-1]
    return MillstreamError(
        "MS-EXPR-008",
        f'step "{node.name}" has an expression that Spark refuses.',
        at=node.at,
        found=said.split(" on search path ")[0].replace("`", "").rstrip("."),
    )
