"""Upserts by key: the whole row as payload, with its place in the log."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from millstream.plan.expressions import field
from millstream.plan.operators import Latest
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked, stored, whole_row
from millstream.spark.lower.state import Kept
from millstream.spark.lower.told import LatestTold
from millstream.spark.lower.types import types_of


def shapes(node: Latest, rows: Frames) -> tuple[Shape, ...]:
    keys = tuple(field(name) for name in node.by)
    row = ", ".join(f"'{stored(name)}', {field(name)}" for name in node.carries)
    payload = (("row", f"CASE WHEN NOT `_deleted` THEN named_struct({row}) END"), ("order", "`_order`"))
    types = types_of(rows[0], [*keys, *(sql for _, sql in payload)])
    return (Shape(keys, tuple(types[: len(keys)]), payload, tuple(types[len(keys) :])),)


def unpack(node: Latest, rows: Frames, struct: str) -> Unpacked:
    return whole_row(node, struct)


def told(node: Latest, rows: Frames) -> LatestTold:
    return LatestTold()


def kept(node: Latest) -> Kept:
    return Kept(node.by)


def batch(node: Latest, rows: Frames) -> DataFrame:
    """Plain SQL: of each key the row that is last in the log, unless that is a delete."""
    struct = ", ".join(f"'{name}', {field(name)}" for name in node.carries)
    last = (
        rows[0]
        .groupBy(*(expr(field(name)) for name in node.by))
        .agg(
            expr(f"max_by(named_struct({struct}), `_order`)").alias("_row"),
            expr("max_by(`_deleted`, `_order`)").alias("_gone"),
        )
    )
    return last.where("NOT _gone").selectExpr(*(f"_row.{field(name)} AS {field(name)}" for name in node.carries))


LATEST = Lowering(shapes, unpack, told, kept, batch)
