"""The aggregate: figures of each group, and results as plain SQL over them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from millstream.plan.aggregates import Closing, Figure
from millstream.plan.closing import closes as closed_after
from millstream.plan.expressions import Expr, field
from millstream.plan.operators import Aggregate
from millstream.spark.lower.figures import figures
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked
from millstream.spark.lower.types import types_of


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
    fields += [(part.name, Expr(part.sql).over(texts)) for part in node.results]
    return Unpacked(tuple(fields))


def spec(node: Aggregate, rows: Frames) -> dict[str, object]:
    closing = {} if node.closing is None else {"closing": closes(node, node.closing)}
    after = closed_after(node) if node.closing is None else None
    if after is not None:
        closing = {"closing": {"key": after[0], "allowed_ms": after[1], "final": False, "silent": True}}
    always = {} if node.keys else {"always": True}
    counted = {"counted": any("a0" in Expr(sql).fields for sql in figures(node, rows[0]).results)}
    return {"kind": "aggregate", "accumulators": listed(node, rows), **counted, **closing, **always}


def listed(node: Aggregate, rows: Frames) -> list[dict[str, object]]:
    """The accumulators, each with the payload's field that it begins at."""
    at = 0
    found: list[dict[str, object]] = []
    for part in figures(node, rows[0]).accumulators:
        found.append({"kind": part.kind, "at": at})
        at += len(part.payload)
    return found


def closes(node: Aggregate, closing: Closing) -> dict[str, object]:
    """Which key says when a group ends, and what then."""
    end = next(i for i, part in enumerate(node.keys) if part.name == closing.end)
    return {"key": end, "allowed_ms": closing.allowed_ms, "final": closing.final}


def batch(node: Aggregate, rows: Frames) -> DataFrame:
    """Plain SQL."""
    found = in_windows(node, rows[0])
    if not node.figures:
        return found.selectExpr(*(f"{part.expr.sql} AS {field(part.name)}" for part in node.keys)).distinct()
    calls = {f"f{i}": call(part) for i, part in enumerate(node.figures)}
    keyed = found.groupBy(*(expr(part.expr.sql).alias(f"k{i}") for i, part in enumerate(node.keys)))
    found = keyed.agg(*(expr(sql).alias(name) for name, sql in calls.items()))
    keys = [f"k{i} AS {field(part.name)}" for i, part in enumerate(node.keys)]
    return found.selectExpr(*keys, *(f"{part.sql} AS {field(part.name)}" for part in node.results))


def in_windows(node: Aggregate, rows: DataFrame) -> DataFrame:
    """A row without a time is in no window."""
    return rows if node.closing is None else rows.where(f"{field(node.closing.end)} IS NOT NULL")


def call(part: Figure) -> str:
    """The call as Spark knows it; where Spark leaves an order open, with one."""
    where = f" FILTER (WHERE {part.where.sql})" if part.where else ""
    argument = part.argument.sql if part.argument else "*"
    match part.function:
        case "count_distinct":
            return f"count(DISTINCT {argument}){where}"
        case "sum_distinct" | "avg_distinct":
            return f"{part.function[:3]}(DISTINCT {argument}){where}"
        case "percentile":
            assert part.by is not None
            return f"percentile({argument}, {part.by.sql}){where}"
        case "listagg" | "listagg_distinct":
            assert part.by is not None
            values = f"collect_list(CAST({argument} AS STRING)){where}"
            # Spark's own, of DISTINCT values, does not go together with other distinct figures.
            listed = f"array_distinct({values})" if part.function == "listagg_distinct" else values
            return f"CASE WHEN size({values}) > 0 THEN array_join(sort_array({listed}), {part.by.sql}) END"
        case "min_by" | "max_by":
            assert part.by is not None
            pair = f"CASE WHEN ({part.by.sql}) IS NOT NULL THEN struct({part.by.sql} AS by, {argument} AS value) END"
            return f"({part.function[:3]}({pair}){where}).value"
        case "collect_list":
            return f"sort_array(collect_list({argument}){where})"
        case "collect_set":
            return f"sort_array(array_distinct(collect_list({argument}){where}))"
        case _:
            return f"{part.function}({argument}){where}"


AGGREGATE = Lowering(shapes, unpack, spec, batch)
