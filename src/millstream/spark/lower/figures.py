"""An aggregate's figures as the kernels' accumulators: each row as small figures with its weight folded in."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, DecimalType, LongType, StringType

from millstream.errors import MillstreamError
from millstream.plan.aggregates import Figure
from millstream.plan.operators import Aggregate
from millstream.spark.lower.of_values import of_values
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


@dataclass(frozen=True)
class Argument:
    """What a figure is of: SQL for its value, NULL where it does not count, and for what it goes by."""

    value: str
    type: DataType
    by: str
    by_type: DataType

    @property
    def count(self) -> str:
        """The weight of a row that counts."""
        return f"CASE WHEN {self.value} IS NULL THEN 0L ELSE `_w` END"


def figures(node: Aggregate, rows: DataFrame) -> Figures:
    kept = [ROWS]
    results = []
    for part, argument in zip(node.figures, arguments(node, rows), strict=True):
        places = []
        for accumulator in accumulators(node, part, argument):
            if accumulator not in kept:
                kept.append(accumulator)
            places.append(f"a{kept.index(accumulator)}")
        results.append(result(node, part, argument.type, places))
    return Figures(tuple(kept), tuple(results))


def arguments(node: Aggregate, rows: DataFrame) -> list[Argument]:
    values = [value(part) for part in node.figures]
    bys = [part.by.sql if part.by else "1" for part in node.figures]
    types = types_of(rows, [*values, *bys])
    width = len(values)
    return [Argument(*each) for each in zip(values, types[:width], bys, types[width:], strict=True)]


def value(part: Figure) -> str:
    """A row that the filter leaves out is as one without a value. Distinct values have their filters apart."""
    sql = f"({part.argument.sql})" if part.argument else "1"
    return f"CASE WHEN {part.where.sql} THEN {sql} END" if part.where and part.function != "count_distinct" else sql


def accumulators(node: Aggregate, part: Figure, argument: Argument) -> list[Accumulator]:
    count = Accumulator("count", (argument.count,))
    match part.function:
        case "count":
            return [count if part.argument or part.where else ROWS]
        case "count_if":
            return [counted(argument.value)]
        case "bool_and" | "bool_or":
            return [count, counted(argument.value)]
        case "count_distinct":
            return [distinct(node, part, argument)]
        case "min" | "max":
            return [extreme(node, part.function, as_key(argument.value, argument.type))]
        case "min_by" | "max_by":
            return [extreme(node, part.function[:3], carried(part, argument))]
        case "collect_list" | "collect_set":
            return [collected(argument)]
        case "percentile" | "sum_distinct" | "avg_distinct":
            if not number(argument.type):
                raise no_number(node, part, argument.type)
            return [collected(argument)]
        case "listagg" | "listagg_distinct":
            return [collected(replace(argument, value=f"CAST({argument.value} AS STRING)", type=StringType()))]
        case "avg":
            return [averaged(node, part, argument), count]
        case "sum":
            return [summed(node, part, argument)]
        case _:
            return [squares(node, part, argument)]


def counted(condition: str) -> Accumulator:
    return Accumulator("count", (f"CASE WHEN {condition} THEN `_w` ELSE 0L END",))


def extreme(node: Aggregate, function: str, sql: str) -> Accumulator:
    return Accumulator(function if node.input.append_only else f"{function}_retractable", (sql,))


def carried(part: Figure, argument: Argument) -> str:
    """A pair that is compared by what the figure goes by, then by the value: ties are settled."""
    assert part.argument is not None
    condition = f"{argument.by} IS NOT NULL" + (f" AND ({part.where.sql})" if part.where else "")
    pair = f"struct({as_key(argument.by, argument.by_type)} AS by, {as_key(part.argument.sql, argument.type)} AS value)"
    return f"CASE WHEN {condition} THEN {pair} END"


def distinct(node: Aggregate, part: Figure, argument: Argument) -> Accumulator:
    """One set of values for all counts of them: each value with a weight per filter."""
    wheres = filters(node, part)
    weights = ["`_w`" if where is None else f"CASE WHEN {where} THEN `_w` ELSE 0L END" for where in wheres]
    return Accumulator("distinct" if node.input.append_only else "distinct_retractable", (valued(argument, weights),))


def valued(argument: Argument, weights: list[str]) -> str:
    """A list of one value with its weights: merged figures are longer lists."""
    named = ", ".join(f"{weight} AS w{i}" for i, weight in enumerate(weights))
    entry = f"struct(struct({as_key(argument.value, argument.type)} AS value) AS value, {named})"
    return f"CASE WHEN {argument.value} IS NOT NULL THEN array({entry}) END"


def collected(argument: Argument) -> Accumulator:
    """All values, sorted: one list for all that is made of it."""
    return Accumulator("collect", (valued(argument, ["`_w`"]),))


def number(type_: DataType) -> bool:
    return whole(type_) or floating(type_) or decimal(type_) is not None


def filters(node: Aggregate, part: Figure) -> list[str | None]:
    """The filters of all counts of the distinct values of one argument."""
    alike = (each for each in node.figures if (each.function, each.argument) == (part.function, part.argument))
    return [each.where.sql if each.where else None for each in alike]


def summed(node: Aggregate, part: Figure, argument: Argument) -> Accumulator:
    type_, value = argument.type, argument.value
    exact = decimal(type_)
    if node.input.append_only and (whole(type_) or floating(type_)):
        return Accumulator("plain_sum", (f"CAST({value} AS {'BIGINT' if whole(type_) else 'DOUBLE'}) * `_w`",))
    if whole(type_):
        return Accumulator("sum_long", (f"coalesce(CAST({value} AS BIGINT), 0L) * `_w`", argument.count))
    if floating(type_):
        return Accumulator("sum_double", (*finite(f"CAST({value} AS DOUBLE)"), argument.count))
    if exact is not None:
        return Accumulator("sum_decimal", (weighted(value, exact), argument.count))
    raise no_number(node, part, type_)


def averaged(node: Aggregate, part: Figure, argument: Argument) -> Accumulator:
    """An average of BIGINTs is one where their sum is not; a sum that is asked for, too, serves both."""
    if not isinstance(argument.type, LongType) or replace(part, function="sum") in node.figures:
        return summed(node, part, argument)
    value = f"coalesce({argument.value}, 0L)"
    return Accumulator("sum_wide", (f"shiftright({value}, 32) * `_w`", f"({value} & 4294967295L) * `_w`"))


def squares(node: Aggregate, part: Figure, argument: Argument) -> Accumulator:
    """Squares are taken by the kernel, exactly; a merged figure has none of the single value."""
    if not number(argument.type):
        raise no_number(node, part, argument.type)
    return Accumulator("squares", (f"CAST({argument.value} AS DOUBLE)", *["0D"] * 4, "0L", argument.count))


def no_number(node: Aggregate, part: Figure, type_: DataType) -> MillstreamError:
    return MillstreamError(
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


def result(node: Aggregate, part: Figure, type_: DataType, places: list[str]) -> str:
    """SQL over the accumulators' results."""
    exact = decimal(type_)
    first, last = places[0], places[-1]
    match part.function:
        case "avg":
            divided = f"{first} / {last}"
            if exact is not None:
                narrow = f"DECIMAL({min(38, exact.precision + 4)}, {min(38, exact.scale + 4)})"
                divided = f"CAST({first} / CAST({last} AS DECIMAL(20, 0)) AS {narrow})"
            return f"CASE WHEN {last} = 0L THEN NULL ELSE {divided} END"
        case "sum" if exact is not None:
            return f"CAST({first} AS DECIMAL({min(38, exact.precision + 10)}, {exact.scale}))"
        case "bool_and":
            return f"CASE WHEN {first} > 0L THEN {first} = {last} END"
        case "bool_or":
            return f"CASE WHEN {first} > 0L THEN {last} > 0L END"
        case "count_distinct":
            return f"({first}).n{filters(node, part).index(part.where.sql if part.where else None)}"
        case "min_by" | "max_by":
            return f"({first}).value"
        case "collect_set":
            return f"array_distinct({first})"
        case "percentile" | "sum_distinct" | "avg_distinct" | "listagg" | "listagg_distinct":
            return of_values(part, type_, first)
        case "var_pop" | "stddev_pop" | "var_samp" | "stddev_samp":
            return spread(part.function, first)
        case _:
            return first


def spread(function: str, squares: str) -> str:
    fewest = 1 if function.endswith("_samp") else 0
    variance = f"CASE WHEN ({squares}).n > {fewest}L THEN ({squares}).m2 / (({squares}).n - {fewest}L) END"
    return f"sqrt({variance})" if function.startswith("stddev") else variance
