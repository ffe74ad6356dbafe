"""A stream without duplicates: the whole row as payload, with its time."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from millstream.plan.expressions import field
from millstream.plan.operators import Dedup
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked, stored, whole_row
from millstream.spark.lower.state import Kept
from millstream.spark.lower.told import DedupTold
from millstream.spark.lower.types import types_of


def micros(node: Dedup) -> str:
    assert node.input.event_time is not None
    return f"unix_micros({field(node.input.event_time)})"


def shapes(node: Dedup, rows: Frames) -> tuple[Shape, ...]:
    keys = tuple(field(name) for name in node.by)
    payload = (*((stored(name), field(name)) for name in node.input.carries), ("_time", micros(node)))
    types = types_of(rows[0], [*keys, *(sql for _, sql in payload)])
    return (Shape(keys, tuple(types[: len(keys)]), payload, tuple(types[len(keys) :])),)


def unpack(node: Dedup, rows: Frames, struct: str) -> Unpacked:
    return whole_row(node, struct)


def told(node: Dedup, rows: Frames) -> DedupTold:
    return DedupTold(node.last, "_time", node.within_ms, node.within_ms + (node.input.lag or 0))


def kept(node: Dedup) -> Kept:
    return Kept(node.by)


def batch(node: Dedup, rows: Frames) -> DataFrame:
    """Plain SQL: row after row in the order of time, each kept if it is far enough from the last one that was, or if
    the next one is far enough from it. One without a time cannot be judged, and is left out."""
    row = f"struct({', '.join(field(name) for name in node.input.carries)})"
    timed = rows[0].where(f"{micros(node)} IS NOT NULL")
    found = timed.groupBy(*(expr(field(name)).alias(f"k{i}") for i, name in enumerate(node.by))).agg(
        expr(f"sort_array(collect_list(struct({micros(node)} AS t, {row} AS r)))").alias("_all")
    )
    if node.last:
        alone = f"coalesce(get(_all, i + 1).t > x.t + {node.within_ms * 1000}L, TRUE)"
        return rows_of(node, found.selectExpr(f"inline(filter(_all, (x, i) -> {alone}))"))
    far = f"size(kept) = 0 OR x.t > element_at(kept, -1).t + {node.within_ms * 1000}L"
    kept = f"aggregate(_all, slice(_all, 1, 0), (kept, x) -> IF({far}, concat(kept, array(x)), kept))"
    return rows_of(node, found.selectExpr(f"inline({kept})"))


def rows_of(node: Dedup, found: DataFrame) -> DataFrame:
    return found.selectExpr(*(f"r.{field(name)}" for name in node.input.carries))


DEDUP = Lowering(shapes, unpack, told, kept, batch)
