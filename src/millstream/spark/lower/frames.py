"""Stateless steps on a Spark frame: the fields of a node as columns, beside the weight `_w`."""

from __future__ import annotations

from functools import singledispatch

from pyspark.sql import DataFrame, SparkSession

from millstream.plan.expressions import field
from millstream.plan.lookup import Lookup
from millstream.plan.node import Node
from millstream.plan.nodes import (
    Alias,
    Changes,
    DeadLetters,
    Declared,
    Explode,
    Filter,
    Keep,
    Project,
    Source,
    Timed,
    Versions,
)
from millstream.plan.python import Call
from millstream.spark.lower import source as sources
from millstream.spark.lower.call import called
from millstream.spark.lower.lookup import looked_up

OP = "CASE WHEN `_w` > 0 THEN 'insert' ELSE 'delete' END"
"""What a weight does to a row."""

HIDDEN = ("_w", "_deleted", "_order", "_place", "_at", "_bad")
"""Millstream's own columns, which ride along."""


def hidden(frame: DataFrame) -> list[str]:
    return [field(name) for name in frame.columns if name in HIDDEN]


@singledispatch
def step(node: Node, frame: DataFrame) -> DataFrame:
    """The rows that a stateless step makes of a frame's."""
    raise TypeError(f"{type(node).__name__} is not a stateless step")


@step.register(Alias)
@step.register(Declared)
@step.register(Timed)
def label(node: Node, frame: DataFrame) -> DataFrame:
    return frame


@step.register
def project(node: Project, frame: DataFrame) -> DataFrame:
    chosen = [f"{part.expr.sql} AS {field(part.name)}" for part in node.exprs]
    return frame.selectExpr(*hidden(frame), *chosen)


@step.register
def keep(node: Keep, frame: DataFrame) -> DataFrame:
    return frame.selectExpr(*hidden(frame), *(field(name) for name in node.carries))


@step.register
def filter_(node: Filter, frame: DataFrame) -> DataFrame:
    return frame.where(node.condition.sql)


@step.register
def explode(node: Explode, frame: DataFrame) -> DataFrame:
    return frame.selectExpr("*", f"explode({node.array.sql}) AS {field(node.element)}")


@step.register
def changes(node: Changes, frame: DataFrame) -> DataFrame:
    return frame.selectExpr("abs(`_w`) AS `_w`", f"{OP} AS {field(node.op)}", *map(field, node.input.carries))


@step.register
def call(node: Call, frame: DataFrame) -> DataFrame:
    return called(node, frame, [name for name in hidden(frame) if name != "`_bad`"])


@step.register
def versions(node: Versions, frame: DataFrame) -> DataFrame:
    return frame.selectExpr("`_w`", *(f"{sql} AS {field(name)}" for name, sql in version_fields(node)))


@step.register
def dead_letters(node: DeadLetters, frame: DataFrame) -> DataFrame:
    return frame.where("`_bad` IS NOT NULL").selectExpr("`_w`", "`_bad`.*")


@step.register
def look_up(node: Lookup, frame: DataFrame) -> DataFrame:
    return looked_up(frame, node, static_rows(node.right, frame.sparkSession), hidden(frame))


def static_rows(node: Node, spark: SparkSession) -> DataFrame:
    """All rows of what does not change."""
    if isinstance(node, Source):
        return steps(sources.batch(node, spark), ())
    (below,) = node.inputs
    return step(node, static_rows(below, spark))


def version_fields(node: Versions) -> list[tuple[str, str]]:
    """What a change of a table is, in SQL: its row, whether it takes it away, when, and its place in the log."""
    gone, place = ("`_deleted`", "`_order`") if node.tombstones else ("`_w` < 0L", "`_place`")
    own = [(name, field(name)) for name in node.input.carries]
    return [*own, ("_gone", gone), ("_offset", place), *([("_ended", "`_at`")] if node.timed else [])]


def steps(frame: DataFrame, chain: tuple[Node, ...]) -> DataFrame:
    """A chain of steps; rows that could not be read only go where dead letters go."""
    if "_bad" in frame.columns and not (chain and isinstance(chain[0], DeadLetters)):
        frame = frame.where("`_bad` IS NULL")
    for node in chain:
        frame = step(node, frame)
    return frame
