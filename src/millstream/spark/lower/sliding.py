"""Sliding windows: the figures of each row, those that take it back, and when it leaves."""

from __future__ import annotations

from pyspark.sql import DataFrame

from millstream.plan.aggregates import END
from millstream.plan.expressions import Expr, field
from millstream.plan.operators import Sliding
from millstream.spark.lower import aggregate
from millstream.spark.lower.aggregate import accumulators, figures_kept, grouped, unpack
from millstream.spark.lower.figures import figures
from millstream.spark.lower.ports import Frames, Lowering, Shape
from millstream.spark.lower.state import Kept
from millstream.spark.lower.told import SlidingTold
from millstream.spark.lower.types import types_of

LEAVES = f"unix_millis({field(END)})"
"""As fine as Spark's watermark is."""


def shapes(node: Sliding, rows: Frames) -> tuple[Shape, ...]:
    """All rows are one group where there is no key."""
    keys = tuple(part.expr.sql for part in node.keys) or ("0",)
    added = [sql for part in figures(node, rows[0]).accumulators for sql in part.payload]
    types = types_of(rows[0], [*keys, *added])
    (leaves,) = types_of(rows[0], [LEAVES])
    of_keys, of_rows = types[: len(keys)], types[len(keys) :]
    named = [(f"p{i}", sql) for i, sql in enumerate(added)]
    named += [(f"b{i}", taken_back(sql)) for i, sql in enumerate(added)]
    return (Shape(keys, tuple(of_keys), (*named, ("end", LEAVES)), (*of_rows, *of_rows, leaves)),)


def taken_back(sql: str) -> str:
    """What takes a row out again: the same, with the opposite weight."""
    return Expr(sql).over(lambda name: "(-`_w`)" if name == "_w" else field(name))


def told(node: Sliding, rows: Frames) -> SlidingTold:
    return SlidingTold(
        accumulators=accumulators(node, rows),
        back="b0",
        end="end",
        size_ms=node.size_ms,
        counted=any("a0" in Expr(sql).fields for sql in figures(node, rows[0]).results),
        always=not node.keys,
    )


def kept(node: Sliding) -> Kept:
    return Kept(grouped(node.keys), (*figures_kept(node), f"of the last {node.size_ms} ms"))


def batch(node: Sliding, rows: Frames) -> DataFrame:
    """Plain SQL: the second frame has the watermark, in one row."""
    keys = ", ".join(f"({part.expr.sql})" for part in node.keys)
    group = f"PARTITION BY {keys}" if keys else ""
    timed = rows[0].where(f"{field(END)} IS NOT NULL").crossJoin(rows[1])
    dated = timed.selectExpr("*", f"max({LEAVES}) OVER ({group}) AS `_latest`")
    within = dated.where(f"{LEAVES} > greatest(`_watermark`, `_latest` - {node.size_ms}L)")
    return aggregate.batch(node, (within,))


SLIDING = Lowering(shapes, unpack, told, kept, batch)
