"""Windows that overlap: the figures of an aggregate, each row with its pane; the kernel makes windows of them."""

from __future__ import annotations

from pyspark.sql import DataFrame

from millstream.plan.aggregates import END, START
from millstream.plan.expressions import field
from millstream.plan.operators import Hopping
from millstream.spark.lower import aggregate
from millstream.spark.lower.ports import Frames, Lowering
from millstream.spark.lower.sessions import shapes, unpack
from millstream.spark.lower.state import Kept
from millstream.spark.lower.told import HoppingTold


def told(node: Hopping, rows: Frames) -> HoppingTold:
    assert node.closing is not None
    return HoppingTold(
        accumulators=aggregate.accumulators(node, rows),
        time="time",
        windows=node.windows,
        every_ms=node.every_ms,
        after_ms=node.closing.allowed_ms,
        final_only=node.closing.final,
    )


def kept(node: Hopping) -> Kept:
    panes = f"{node.windows} windows, one every {node.every_ms} ms"
    return Kept(aggregate.grouped(node.keys[2:]), (*aggregate.figures_kept(node), panes))


def batch(node: Hopping, rows: Frames) -> DataFrame:
    """Plain SQL: each row once per window that it is in, instead of once with the last of them."""
    back = f"`_back` * {node.every_ms * 1000}"
    moved = [f"timestamp_micros(unix_micros({field(name)}) - {back}) AS {field(name)}" for name in (START, END)]
    others = [field(name) for name in rows[0].columns if name not in (START, END)]
    numbered = rows[0].selectExpr("*", f"explode(sequence(0L, {node.windows - 1}L)) AS `_back`")
    return aggregate.batch(node, (numbered.selectExpr(*others, *moved),))


HOPPING = Lowering(shapes, unpack, told, kept, batch)
