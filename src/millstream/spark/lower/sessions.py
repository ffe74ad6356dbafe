"""Sessions: the figures of an aggregate, each row with its time; the kernel merges them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from millstream.plan.expressions import Expr, field
from millstream.plan.operators import Aggregate, Sessions
from millstream.spark.lower.aggregate import accumulators, call, figures_kept, grouped, in_windows
from millstream.spark.lower.figures import figures
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked
from millstream.spark.lower.state import Kept
from millstream.spark.lower.told import SessionsTold
from millstream.spark.lower.types import types_of


def shapes(node: Aggregate, rows: Frames) -> tuple[Shape, ...]:
    """All rows are one group where there is no key."""
    keys = tuple(part.expr.sql for part in node.keys[2:]) or ("0",)
    payload = [sql for part in figures(node, rows[0]).accumulators for sql in part.payload]
    named = (*((f"p{i}", sql) for i, sql in enumerate(payload)), ("time", node.keys[0].expr.sql))
    types = types_of(rows[0], [*keys, *(sql for _, sql in named)])
    return (Shape(keys, tuple(types[: len(keys)]), named, tuple(types[len(keys) :])),)


def unpack(node: Aggregate, rows: Frames, struct: str) -> Unpacked:
    texts = {"k0": f"{struct}.start", "k1": f"{struct}.end"}
    texts |= {f"k{i + 2}": f"{struct}.k{i}" for i in range(len(node.keys) - 2)}
    kept = figures(node, rows[0])
    places = {f"a{i}": f"{struct}.a{i}" for i in range(len(kept.accumulators))}
    texts |= {f"f{i}": Expr(sql).over(places) for i, sql in enumerate(kept.results)}
    fields = [(part.name, texts[f"k{i}"]) for i, part in enumerate(node.keys)]
    fields += [(part.name, Expr(part.sql).over(texts)) for part in node.results]
    return Unpacked(tuple(fields))


def told(node: Sessions, rows: Frames) -> SessionsTold:
    assert node.closing is not None
    return SessionsTold(
        accumulators=accumulators(node, rows),
        time="time",
        gap_ms=node.gap_ms,
        after_ms=node.closing.after_ms,
        final_only=node.closing.final,
    )


def kept(node: Sessions) -> Kept:
    return Kept(grouped(node.keys[2:]), (*figures_kept(node), f"a gap of {node.gap_ms} ms"))


def batch(node: Sessions, rows: Frames) -> DataFrame:
    """Plain SQL: Spark's own session window."""
    window = expr(f"session_window({node.keys[0].expr.sql}, '{node.gap_ms} milliseconds')").alias("_window")
    keys = [expr(part.expr.sql).alias(f"k{i}") for i, part in enumerate(node.keys) if i > 1]
    calls = [expr(call(part)).alias(f"f{i}") for i, part in enumerate(node.figures)]
    found = in_windows(node, rows[0]).groupBy(window, *keys).agg(*calls)
    found = found.withColumns({"k0": expr("_window.start"), "k1": expr("_window.end")})
    named = [f"k{i} AS {field(part.name)}" for i, part in enumerate(node.keys)]
    return found.selectExpr(*named, *(f"{part.sql} AS {field(part.name)}" for part in node.results))


SESSIONS = Lowering(shapes, unpack, told, kept, batch)
