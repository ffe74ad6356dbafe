"""The aggregate: each row as small figures with its weight folded in, results as plain SQL over the figures."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.types import DataType, DecimalType

from millstream.errors import MillstreamError
from millstream.plan.aggregates import Closing, Figure
from millstream.plan.expressions import Expr, field
from millstream.plan.operators import Aggregate
from millstream.spark.lower.ports import Frames, Lowering, Shape, Unpacked
from millstream.spark.lower.types import as_key, decimal, floating, types_of, whole


@dataclass(frozen=True)
class Accumulator:
    """A kernel's accumulator: its kind and the payload columns that feed it."""

    kind: str
    payload: tuple[str, ...]


ROWS = Accumulator("count", ("`_w`",))


@dataclass(frozen=True)
class Figures:
    """The accumulators of an aggregate, each once, and SQL for each figure over their results `a0`, `a1`, …"""

    accumulators: tuple[Accumulator, ...]
    results: tuple[str, ...]


def figures(node: Aggregate, rows: DataFrame) -> Figures:
    arguments = [part.argument.sql if part.argument else "1" for part in node.figures]
    kept = [ROWS]
    results = []
    for part, type_ in zip(node.figures, types_of(rows, arguments), strict=True):
        places = []
        for accumulator in accumulators(node, part, type_):
            if accumulator not in kept:
                kept.append(accumulator)
            places.append(f"a{kept.index(accumulator)}")
        results.append(result(part, type_, places))
    return Figures(tuple(kept), tuple(results))


def accumulators(node: Aggregate, part: Figure, type_: DataType) -> list[Accumulator]:
    if part.argument is None:
        return [ROWS]
    value = f"({part.argument.sql})"
    count = f"CASE WHEN {value} IS NULL THEN 0L ELSE `_w` END"
    if part.function == "count":
        return [Accumulator("count", (count,))]
    if part.function in ("min", "max"):
        kind = part.function if node.input.append_only else f"{part.function}_retractable"
        return [Accumulator(kind, (as_key(value, type_),))]
    total = summed(node, part, type_, value, count)
    return [total, Accumulator("count", (count,))] if part.function == "avg" else [total]


def summed(node: Aggregate, part: Figure, type_: DataType, value: str, count: str) -> Accumulator:
    exact = decimal(type_)
    if node.input.append_only and (whole(type_) or floating(type_)):
        return Accumulator("plain_sum", (f"CAST({value} AS {'BIGINT' if whole(type_) else 'DOUBLE'}) * `_w`",))
    if whole(type_):
        return Accumulator("sum_long", (f"coalesce(CAST({value} AS BIGINT), 0L) * `_w`", count))
    if floating(type_):
        return Accumulator("sum_double", (*finite(f"CAST({value} AS DOUBLE)"), count))
    if exact is not None:
        return Accumulator("sum_decimal", (weighted(value, exact), count))
    raise MillstreamError(
        "MS-AGG-006",
        f'step "{node.name}" takes the {part.function} of {part.argument.shown if part.argument else "*"}, '
        f"which is a {type_.simpleString().upper()}.",
        at=node.at,
        hint="cast it to a number",
    )


def finite(value: str) -> list[str]:
    """The value times its weight; NaN and the infinities are only counted."""
    special = f"(isnan({value}) OR abs({value}) = double('Infinity'))"
    return [
        f"CASE WHEN {value} IS NULL OR {special} THEN 0D ELSE {value} * `_w` END",
        "0D",
        f"CASE WHEN isnan({value}) THEN `_w` ELSE 0L END",
        f"CASE WHEN {value} = double('Infinity') THEN `_w` ELSE 0L END",
        f"CASE WHEN {value} = double('-Infinity') THEN `_w` ELSE 0L END",
    ]


def weighted(value: str, type_: DecimalType) -> str:
    wide = f"DECIMAL(38, {type_.scale})"
    return (
        f"coalesce(CASE `_w` WHEN 1L THEN CAST({value} AS {wide}) WHEN -1L THEN CAST(-{value} AS {wide}) "
        f"ELSE CAST({value} * CAST(`_w` AS DECIMAL(18, 0)) AS {wide}) END, CAST(0 AS {wide}))"
    )


def result(part: Figure, type_: DataType, places: list[str]) -> str:
    exact = decimal(type_)
    if part.function == "avg":
        total, count = places
        divided = f"{total} / {count}"
        if exact is not None:
            narrow = f"DECIMAL({min(38, exact.precision + 4)}, {min(38, exact.scale + 4)})"
            divided = f"CAST({total} / CAST({count} AS DECIMAL(20, 0)) AS {narrow})"
        return f"CASE WHEN {count} = 0L THEN NULL ELSE {divided} END"
    if part.function == "sum" and exact is not None:
        return f"CAST({places[0]} AS DECIMAL({min(38, exact.precision + 10)}, {exact.scale}))"
    return places[0]


def shapes(node: Aggregate, rows: Frames) -> tuple[Shape, ...]:
    keys = tuple(part.expr.sql for part in node.keys)
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
    return {"kind": "aggregate", "accumulators": listed(node, rows), **closing}


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
    calls = {f"f{i}": call(part) for i, part in enumerate(node.figures)}
    keyed = rows[0].groupBy(*(expr(part.expr.sql).alias(f"k{i}") for i, part in enumerate(node.keys)))
    found = keyed.agg(*(expr(sql).alias(name) for name, sql in calls.items()))
    keys = [f"k{i} AS {field(part.name)}" for i, part in enumerate(node.keys)]
    return found.selectExpr(*keys, *(f"{part.sql} AS {field(part.name)}" for part in node.results))


def call(part: Figure) -> str:
    return f"{part.function}({part.argument.sql if part.argument else '*'})"


AGGREGATE = Lowering(shapes, unpack, spec, batch)
