"""Changes of a table key brought together: the whole row as payload."""

from __future__ import annotations

from pyspark.sql import DataFrame

from millstream.plan.expressions import field
from millstream.plan.operators import Collapse
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked, plain, stored, whole_row
from millstream.spark.lower.state import Kept
from millstream.spark.lower.told import CollapseTold
from millstream.spark.lower.types import types_of


def shapes(node: Collapse, rows: Frames) -> tuple[Shape, ...]:
    keys = tuple(field(name) for name in node.by)
    payload = tuple((stored(name), field(name)) for name in node.carries)
    types = types_of(rows[0], [*keys, *(sql for _, sql in payload)])
    return (Shape(keys, tuple(types[: len(keys)]), payload, tuple(types[len(keys) :])),)


def unpack(node: Collapse, rows: Frames, struct: str) -> Unpacked:
    return whole_row(node, struct)


def told(node: Collapse, rows: Frames) -> CollapseTold:
    return CollapseTold()


def kept(node: Collapse) -> Kept:
    return Kept(node.by)


def batch(node: Collapse, rows: Frames) -> DataFrame:
    return plain(node.input, rows[0])


COLLAPSE = Lowering(shapes, unpack, told, kept, batch)
