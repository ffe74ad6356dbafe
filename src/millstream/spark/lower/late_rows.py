"""Rows that come when their window is closed: all rows enter, only the late ones leave."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType

from millstream.plan.expressions import field
from millstream.plan.operators import LateRows
from millstream.spark.lower.passing import BUCKETS
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked, plain, stored, whole_row
from millstream.spark.lower.state import Kept
from millstream.spark.lower.told import LateRowsTold
from millstream.spark.lower.types import spread, types_of


def shapes(node: LateRows, rows: Frames) -> tuple[Shape, ...]:
    fields = [field(name) for name in node.carries]
    payload = tuple((stored(name), field(name)) for name in node.carries)
    types = types_of(rows[0], fields)
    return (Shape((spread(fields, types, BUCKETS),), (IntegerType(),), payload, tuple(types)),)


def unpack(node: LateRows, rows: Frames, struct: str) -> Unpacked:
    return whole_row(node, struct)


def told(node: LateRows, rows: Frames) -> LateRowsTold:
    return LateRowsTold(stored(node.closing.end), node.closing.after_ms)


def kept(node: LateRows) -> Kept:
    return Kept(())


def batch(node: LateRows, rows: Frames) -> DataFrame:
    """Where all rows are there at once, none is late but those that have no time."""
    return plain(node, rows[0]).where(f"{field(node.closing.end)} IS NULL")


LATE_ROWS = Lowering(shapes, unpack, told, kept, batch)
