"""Rows that only ride through a level."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType

from millstream.plan.expressions import field
from millstream.plan.node import Key, Node, beneath
from millstream.plan.nodes import Changes
from millstream.planner.stages import Pass
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked, plain, stored, whole_row
from millstream.spark.lower.state import Kept
from millstream.spark.lower.told import PassTold
from millstream.spark.lower.types import spread, types_of

BUCKETS = 64
"""Rows are spread by their hash over this many groups."""


def shapes(operator: Pass, rows: Frames) -> tuple[Shape, ...]:
    """Rows of one key take the same route, so that a retraction cannot overtake its row, nor an update its old form."""
    fields = [field(name) for name in operator.node.carries]
    by = together(operator.node)
    same = fields if by is None else [field(name) for name in by]
    key = spread(same, types_of(rows[0], same), BUCKETS)
    payload = tuple((stored(name), field(name)) for name in operator.node.carries)
    return (Shape((key,), (IntegerType(),), payload, tuple(types_of(rows[0], fields))),)


def together(node: Node) -> Key | None:
    """What tells rows apart whose changes stay in their order: those of a table that are facts now, too."""
    below = beneath(node, lambda step: step.whole)
    return below.input.key if isinstance(below, Changes) else node.key


def unpack(operator: Pass, rows: Frames, struct: str) -> Unpacked:
    return whole_row(operator.node, struct)


def told(operator: Pass, rows: Frames) -> PassTold:
    return PassTold()


def kept(operator: Pass) -> Kept:
    return Kept(())


def batch(operator: Pass, rows: Frames) -> DataFrame:
    return plain(operator.node, rows[0])


PASS = Lowering(shapes, unpack, told, kept, batch)
