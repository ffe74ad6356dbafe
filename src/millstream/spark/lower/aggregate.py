"""The aggregate: figures of each group, and results as plain SQL over them."""

from __future__ import annotations

import re

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from millstream.plan.aggregates import END, START, Closing, Figure
from millstream.plan.closing import closes as closed_after
from millstream.plan.expressions import Expr, NamedExpr, field
from millstream.plan.operators import Aggregate
from millstream.spark.lower.figures import figures
from millstream.spark.lower.no_rows import failing, guarded
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked
from millstream.spark.lower.state import Kept
from millstream.spark.lower.told import AccumulatorTold, AggregateTold, GroupEnds
from millstream.spark.lower.types import types_of

ROWS = "_rows"
"""In batch: how many rows a group has."""
FIGURE = re.compile(r"`?f(\d+)`?")
AS_KEPT = re.compile(r"(?:CAST\()?`?a(\d+)`?(?: AS .*\))?")


def shapes(node: Aggregate, rows: Frames) -> tuple[Shape, ...]:
    """All rows are one group where there is no key."""
    keys = tuple(part.expr.sql for part in node.keys) or ("0",)
    payload = tuple(sql for part in figures(node, rows[0]).accumulators for sql in part.payload)
    types = types_of(rows[0], [*keys, *payload])
    named = tuple((f"p{i}", sql) for i, sql in enumerate(payload))
    return (Shape(keys, tuple(types[: len(keys)]), named, tuple(types[len(keys) :])),)


def unpack(node: Aggregate, rows: Frames, struct: str) -> Unpacked:
    texts = {f"k{i}": f"{struct}.k{i}" for i in range(len(node.keys))}
    places = {f"a{i}": f"{struct}.a{i}" for i in range(len(figures(node, rows[0]).accumulators))}
    for i, sql in enumerate(figures(node, rows[0]).results):
        texts[f"f{i}"] = Expr(sql).over(places)
    fields = [(part.name, texts[f"k{i}"]) for i, part in enumerate(node.keys)]
    null = null_without_rows(node, rows[0])
    for part in node.results:
        sql = Expr(part.sql).over(texts)
        fields.append((part.name, guarded(sql, f"{struct}.a0") if part.name in null else sql))
    return Unpacked(tuple(fields))


def null_without_rows(node: Aggregate, rows: DataFrame) -> frozenset[str]:
    """The names of results that cannot be computed for a group without rows, if there can be one."""
    return frozenset() if node.keys else failing(node.results, figure_calls(node), rows)


def figure_calls(node: Aggregate) -> dict[str, str]:
    return {f"f{i}": call(part) for i, part in enumerate(node.figures)}


def told(node: Aggregate, rows: Frames) -> AggregateTold:
    ends = None if node.closing is None else GroupEnds(closing_key(node, node.closing), node.closing.allowed_ms)
    after = closed_after(node) if node.closing is None else None
    read = any("a0" in Expr(sql).fields for sql in figures(node, rows[0]).results)
    return AggregateTold(
        accumulators=accumulators(node, rows),
        ends=ends if after is None else GroupEnds(*after),
        drops_late=node.closing is not None,
        final_only=node.closing is not None and node.closing.final,
        counted=read or bool(null_without_rows(node, rows[0])),
        always=not node.keys,
    )


def accumulators(node: Aggregate, rows: Frames) -> tuple[AccumulatorTold, ...]:
    """Each with the first of the payload's fields that feed it."""
    at = 0
    found: list[AccumulatorTold] = []
    for part in figures(node, rows[0]).accumulators:
        found.append(AccumulatorTold(part.kind, f"p{at}"))
        at += len(part.payload)
    return tuple(found)


def computes(node: Aggregate, rows: Frames) -> dict[str, str]:
    found = zip(accumulators(node, rows), figures(node, rows[0]).accumulators, strict=True)
    return {told.field.removeprefix("p"): f"{part.kind}: {', '.join(part.payload)}" for told, part in found}


def results(node: Aggregate, rows: Frames) -> dict[str, str]:
    """Those that are what an accumulator holds, at most cast to another type."""
    told, sql = accumulators(node, rows), figures(node, rows[0]).results
    found = {}
    for part in node.results:
        figure = FIGURE.fullmatch(part.sql)
        kept = AS_KEPT.fullmatch(sql[int(figure[1])]) if figure else None
        if kept is not None:
            found[told[int(kept[1])].field.removeprefix("p")] = part.name
    return found


def closing_key(node: Aggregate, closing: Closing) -> int:
    """Which key says when a group ends."""
    return next(i for i, part in enumerate(node.keys) if part.name == closing.end)


def kept(node: Aggregate) -> Kept:
    return Kept(grouped(node.keys), figures_kept(node))


def grouped(keys: tuple[NamedExpr, ...]) -> tuple[str, ...]:
    """The keys of groups; for windows, the names of their columns."""
    return tuple(part.name if part.name in (START, END) else part.expr.shown for part in keys)


def figures_kept(node: Aggregate) -> tuple[str, ...]:
    return tuple(f"{part.called}{f' where {part.where.sql}' if part.where else ''}" for part in node.figures)


def batch(node: Aggregate, rows: Frames) -> DataFrame:
    """Plain SQL."""
    found = in_windows(node, rows[0])
    null = null_without_rows(node, rows[0])
    # Without figures, too: Spark groups by maps, but does not tell rows with maps apart in a DISTINCT.
    calls = {**figure_calls(node), **({ROWS: "count(*)"} if null or not node.figures else {})}
    keyed = found.groupBy(*(expr(part.expr.sql).alias(f"k{i}") for i, part in enumerate(node.keys)))
    found = keyed.agg(*(expr(sql).alias(name) for name, sql in calls.items()))
    keys = [f"k{i} AS {field(part.name)}" for i, part in enumerate(node.keys)]
    results = [(part.name, guarded(part.sql, ROWS) if part.name in null else part.sql) for part in node.results]
    return found.selectExpr(*keys, *(f"{sql} AS {field(name)}" for name, sql in results))


def in_windows(node: Aggregate, rows: DataFrame) -> DataFrame:
    """A row without a time is in no window."""
    return rows if node.closing is None else rows.where(f"{field(node.closing.end)} IS NOT NULL")


def call(part: Figure) -> str:
    """The call as Spark knows it."""
    argument = part.argument.sql if part.argument else "*"
    where = f" FILTER (WHERE {part.where.sql})" if part.where else ""
    return part.computed.batch.format(x=argument, by=part.by.sql if part.by else "", where=where)


AGGREGATE = Lowering(shapes, unpack, told, kept, batch, computes=computes, results=results)
