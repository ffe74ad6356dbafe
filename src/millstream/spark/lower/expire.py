"""Rows that are there for some time: each by the time at which it leaves."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import LongType

from millstream.plan.expressions import field
from millstream.plan.operators import Expire
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked, plain, stored, whole_row
from millstream.spark.lower.types import types_of


def leaves(node: Expire) -> str:
    """When a row leaves, in milliseconds: as fine as Spark's watermark is."""
    return f"unix_millis({field(node.end)})"


def shapes(node: Expire, rows: Frames) -> tuple[Shape, ...]:
    fields = [field(name) for name in node.carries]
    payload = tuple((stored(name), field(name)) for name in node.carries)
    return (Shape((leaves(node),), (LongType(),), payload, tuple(types_of(rows[0], fields))),)


def unpack(node: Expire, rows: Frames, struct: str) -> Unpacked:
    return whole_row(node, struct)


def spec(node: Expire, rows: Frames) -> dict[str, object]:
    return {"kind": "expire"}


def batch(node: Expire, rows: Frames) -> DataFrame:
    """Plain SQL: the second frame has the watermark, in one row."""
    alive = rows[0].crossJoin(rows[1]).where(f"{leaves(node)} > `_watermark`")
    return plain(node, alive)


EXPIRE = Lowering(shapes, unpack, spec, batch)
