"""An aggregate's figures as the kernels' accumulators: each row as small figures with its weight folded in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType

from millstream.errors import MillstreamError
from millstream.plan.aggregates import Figure
from millstream.plan.functions.counts import ROWS
from millstream.plan.functions.definition import EVERY_ROW, Accumulator, Argument, ValueType
from millstream.plan.functions.registry import FUNCTIONS
from millstream.plan.operators import Aggregate
from millstream.spark.lower.types import as_key, decimal, floating, types_of, whole


@dataclass(frozen=True)
class Figures:
    """The accumulators of an aggregate, each once, and SQL for each figure over their results `a0`, `a1`, …"""

    accumulators: tuple[Accumulator, ...]
    results: tuple[str, ...]


def figures(node: Aggregate, rows: DataFrame) -> Figures:
    kept = [ROWS]
    results = []
    for part, argument in zip(node.figures, arguments(node, rows), strict=True):
        refuse_type(node, part, argument.type)
        places = []
        for accumulator in part.computed.accumulators(argument):
            if accumulator not in kept:
                kept.append(accumulator)
            places.append(f"a{kept.index(accumulator)}")
        results.append(part.computed.result(argument, tuple(places)))
    return Figures(tuple(kept), tuple(results))


def arguments(node: Aggregate, rows: DataFrame) -> list[Argument]:
    values = [f"({part.argument.sql})" if part.argument else EVERY_ROW for part in node.figures]
    bys = [f"({part.by.sql})" if part.by else "1" for part in node.figures]
    types = types_of(rows, [*values, *bys])
    width = len(values)
    found = zip(node.figures, values, types[:width], bys, types[width:], strict=True)
    return [
        Argument(
            sql=value,
            type=value_type(type_),
            by=by,
            where=part.where.sql if part.where else None,
            key=partial(as_key, type_=type_),
            by_key=partial(as_key, type_=by_type),
            append_only=node.adds_only,
            also=also(node, part),
            filters=filters(node, part),
        )
        for part, value, type_, by, by_type in found
    ]


def value_type(type_: DataType) -> ValueType:
    sql, exact = type_.simpleString().upper(), decimal(type_)
    if exact is not None:
        return ValueType(sql, "decimal", exact.precision, exact.scale)
    return ValueType(sql, "whole" if whole(type_) else "floating" if floating(type_) else "other")


def also(node: Aggregate, part: Figure) -> frozenset[str]:
    """The functions that are computed of the same, beside this one."""
    alike = (each for each in node.figures if (each.argument, each.where) == (part.argument, part.where))
    return frozenset(each.function for each in alike if not each.distinct)


def filters(node: Aggregate, part: Figure) -> tuple[str | None, ...]:
    """The filters of all calls that differ in nothing else."""
    called = (part.function, part.distinct, part.argument)
    alike = (each for each in node.figures if (each.function, each.distinct, each.argument) == called)
    return tuple(each.where.sql if each.where else None for each in alike)


def refuse_type(node: Aggregate, part: Figure, type_: ValueType) -> None:
    if FUNCTIONS[part.function].numbers and not type_.number:
        raise MillstreamError(
            "MS-AGG-006",
            f'step "{node.name}" takes the {part.function} of {part.argument.shown if part.argument else "*"}, '
            f"which is of type {type_.sql}.",
            at=node.at,
            hint="cast it to a number",
        )
