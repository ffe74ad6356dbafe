"""Functions of a sum, and of a sum of squares."""

from __future__ import annotations

from sqlglot import exp

from millstream.plan.functions.counts import counted
from millstream.plan.functions.definition import Accumulator, Argument, Computed, Form, Function, ValueType
from millstream.plan.functions.values import collected, of_values


def summed(argument: Argument) -> Accumulator:
    type_, value = argument.type, argument.value
    if type_.kind == "decimal":
        return Accumulator("sum_decimal", (weighted(value, type_), argument.count))
    whole = type_.kind == "whole"
    if argument.append_only:
        return Accumulator("plain_sum", (f"CAST({value} AS {'BIGINT' if whole else 'DOUBLE'}) * `_w`",))
    if whole:
        return Accumulator("sum_long", (f"coalesce(CAST({value} AS BIGINT), 0L) * `_w`", argument.count))
    return Accumulator("sum_double", (*finite(f"CAST({value} AS DOUBLE)"), argument.count))


def averaged(argument: Argument) -> Accumulator:
    """The average of BIGINTs exists even if their sum overflows; if the sum is wanted, too, one figure serves both."""
    if argument.type.sql != "BIGINT" or "sum" in argument.also:
        return summed(argument)
    value = f"coalesce({argument.value}, 0L)"
    return Accumulator("sum_wide", (f"shiftright({value}, 32) * `_w`", f"({value} & 4294967295L) * `_w`"))


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


def weighted(value: str, type_: ValueType) -> str:
    wide = f"DECIMAL(38, {type_.scale})"
    return (
        f"coalesce(CASE `_w` WHEN 1L THEN CAST({value} AS {wide}) WHEN -1L THEN CAST(-{value} AS {wide}) "
        f"ELSE CAST({value} * CAST(`_w` AS DECIMAL(18, 0)) AS {wide}) END, CAST(0 AS {wide}))"
    )


def total(argument: Argument, results: tuple[str, ...]) -> str:
    type_ = argument.type
    return f"CAST({results[0]} AS {type_.decimal(10)})" if type_.kind == "decimal" else results[0]


def mean(argument: Argument, results: tuple[str, ...]) -> str:
    sum_, count = results
    divided = f"{sum_} / {count}"
    if argument.type.kind == "decimal":
        divided = f"CAST({sum_} / CAST({count} AS DECIMAL(20, 0)) AS {argument.type.decimal(4, 4)})"
    return f"CASE WHEN {count} = 0L THEN NULL ELSE {divided} END"


def added(values: str, type_: str) -> str:
    return f"aggregate({values}, CAST(0 AS {type_}), (s, x) -> CAST(s + x AS {type_}))"


def total_of_values(argument: Argument, values: str) -> str:
    types = {"whole": "BIGINT", "floating": "DOUBLE", "decimal": argument.type.decimal(10)}
    return added(f"array_distinct({values})", types[argument.type.kind])


def mean_of_values(argument: Argument, values: str) -> str:
    type_, different = argument.type, f"array_distinct({values})"
    if type_.kind != "decimal":
        return f"{added(different, 'DOUBLE')} / size({different})"
    divided = f"{added(different, type_.decimal(10))} / CAST(size({different}) AS DECIMAL(20, 0))"
    return f"CAST({divided} AS {type_.decimal(4, 4)})"


SUM = Function(
    name="sum",
    forms=(Form("sum", exp.Sum, ("x",)),),
    constant=None,
    numbers=True,
    computed=Computed(lambda of: (summed(of),), total, "sum({x}){where}", large=False),
    distinct=Computed(collected, of_values(total_of_values), "sum(DISTINCT {x}){where}", large=True),
    several=False,
)
AVG = Function(
    name="avg",
    forms=(Form("avg", exp.Avg, ("x",)),),
    constant=None,
    numbers=True,
    computed=Computed(lambda of: (averaged(of), counted(of)), mean, "avg({x}){where}", large=False),
    distinct=Computed(collected, of_values(mean_of_values), "avg(DISTINCT {x}){where}", large=True),
    several=False,
)


def squares(argument: Argument) -> tuple[Accumulator, ...]:
    """Squares are taken by the kernel, exactly; a merged figure has none of the single value."""
    return (Accumulator("squares", (f"CAST({argument.value} AS DOUBLE)", *["0D"] * 5, "0L", argument.count)),)


def spread(name: str, forms: tuple[Form, ...], fewest: int, result: str) -> Function:
    """`fewest`: with this many values or fewer there is no result. `result`: what happens to the `{variance}`."""

    def of_squares(argument: Argument, results: tuple[str, ...]) -> str:
        kept = f"({results[0]})"
        return result.format(variance=f"CASE WHEN {kept}.n > {fewest}L THEN {kept}.m2 / ({kept}.n - {fewest}L) END")

    return Function(
        name=name,
        forms=forms,
        constant=None,
        numbers=True,
        computed=Computed(squares, of_squares, name + "({x}){where}", large=False),
        distinct=None,
        several=False,
    )


STDDEV = (Form("stddev", exp.Stddev, ("x",)), Form("stddev_samp", exp.StddevSamp, ("x",)))
VARIANCE = (Form("variance", exp.Variance, ("x",)), Form("var_samp", exp.Variance, ("x",)))
STDDEV_SAMP = spread("stddev_samp", STDDEV, 1, "sqrt({variance})")
STDDEV_POP = spread("stddev_pop", (Form("stddev_pop", exp.StddevPop, ("x",)),), 0, "sqrt({variance})")
VAR_SAMP = spread("var_samp", VARIANCE, 1, "{variance}")
VAR_POP = spread("var_pop", (Form("var_pop", exp.VariancePop, ("x",)),), 0, "{variance}")
