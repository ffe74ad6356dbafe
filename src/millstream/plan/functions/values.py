"""Functions of the sorted list of all values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from millstream.plan.functions.counts import valued
from millstream.plan.functions.definition import Accumulator, Argument, Computed, Constant, Form, Function, only


def collected(argument: Argument) -> tuple[Accumulator, ...]:
    """All values, sorted: one list for all functions that need it."""
    return (Accumulator("collect", (valued(argument, argument.value, ["`_w`"]),)),)


def of_values(found: Callable[[Argument, str], str]) -> Callable[[Argument, tuple[str, ...]], str]:
    """NULL where there are none."""
    return lambda argument, results: f"CASE WHEN size({results[0]}) > 0 THEN {found(argument, results[0])} END"


def percentile(argument: Argument, values: str) -> str:
    """As in Spark: interpolates between two values that differ."""
    place = f"(CAST(size({values}) - 1 AS DOUBLE) * CAST({argument.by} AS DOUBLE))"
    low, high = (f"get({values}, CAST({round_}({place}) AS INT))" for round_ in ("floor", "ceil"))
    one, other = f"CAST({low} AS DOUBLE)", f"CAST({high} AS DOUBLE)"
    between = f"{one} + ({other} - {one}) * ({place} - floor({place}))"
    return f"CASE WHEN {low} = {high} THEN {one} ELSE {between} END"


def texts(argument: Argument) -> tuple[Accumulator, ...]:
    return collected(replace(argument, sql=f"CAST({argument.sql} AS STRING)", key=str))


def joined(different: bool) -> Computed:
    """Spark's own, of DISTINCT values, does not go together with other distinct figures."""
    values = "collect_list(CAST({x} AS STRING)){where}"
    listed = f"array_distinct({values})" if different else values
    kept = "array_distinct({values})" if different else "{values}"
    return Computed(
        texts,
        of_values(lambda of, values: f"array_join({kept.format(values=values)}, {of.by})"),
        f"CASE WHEN size({values}) > 0 THEN array_join(sort_array({listed}), {{by}}) END",
        large=True,
    )


COLLECT_LIST = Function(
    name="collect_list",
    forms=(Form("collect_list", exp.ArrayAgg, ("x",)), Form("array_agg", exp.ArrayAgg, ("x",))),
    constant=None,
    numbers=False,
    computed=Computed(collected, only, "sort_array(collect_list({x}){where})", large=True),
    distinct=None,
    several=False,
)
COLLECT_SET = Function(
    name="collect_set",
    forms=(Form("collect_set", exp.ArrayUniqueAgg, ("x",)),),
    constant=None,
    numbers=False,
    computed=Computed(
        collected,
        lambda of, results: f"array_distinct({results[0]})",
        "sort_array(array_distinct(collect_list({x}){where}))",
        large=True,
    ),
    distinct=None,
    several=False,
)
SHARE = Constant(
    parsed="quantile",
    what="a number between 0 and 1",
    fits=lambda found: not found.is_string and 0 <= float(found.name) <= 1,
    default="0.5",
)
BETWEEN = Constant(
    parsed="separator",
    what="text between the values",
    fits=lambda found: bool(found.is_string),
    default=None,
)
PERCENTILE = Function(
    name="percentile",
    forms=(Form("percentile", exp.Quantile, ("x", "0.9")), Form("median", exp.Median, ("x",))),
    constant=SHARE,
    numbers=True,
    computed=Computed(collected, of_values(percentile), "percentile({x}, {by}){where}", large=True),
    distinct=None,
    several=False,
)
LISTAGG = Function(
    name="listagg",
    forms=(Form("listagg", exp.GroupConcat, ("x", "', '")), Form("string_agg", exp.GroupConcat, ("x", "', '"))),
    constant=BETWEEN,
    numbers=False,
    computed=joined(different=False),
    distinct=joined(different=True),
    several=False,
)
