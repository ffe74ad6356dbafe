"""Functions that count rows."""

from __future__ import annotations

from sqlglot import exp

from millstream.plan.functions.definition import EVERY_ROW, Accumulator, Argument, Computed, Form, Function, only

ROWS = Accumulator("count", ("`_w`",))
"""How many rows a group has. Every aggregate keeps it."""


def counted(argument: Argument) -> Accumulator:
    return Accumulator("count", (argument.count,))


def met(argument: Argument) -> Accumulator:
    return Accumulator("count", (f"CASE WHEN {argument.value} THEN `_w` ELSE 0L END",))


def rows_or_values(argument: Argument) -> tuple[Accumulator, ...]:
    return (ROWS if argument.sql == EVERY_ROW and argument.where is None else counted(argument),)


def valued(argument: Argument, value: str, weights: list[str]) -> str:
    """A list of one value with its weights: merged figures are longer lists."""
    named = ", ".join(f"{weight} AS w{i}" for i, weight in enumerate(weights))
    entry = f"struct(struct({argument.key(value)} AS value) AS value, {named})"
    return f"CASE WHEN {value} IS NOT NULL THEN array({entry}) END"


def different(argument: Argument) -> tuple[Accumulator, ...]:
    """One set of values for all counts of them: each value with a weight per filter."""
    weights = ["`_w`" if where is None else f"CASE WHEN {where} THEN `_w` ELSE 0L END" for where in argument.filters]
    kind = "distinct" if argument.append_only else "distinct_retractable"
    return (Accumulator(kind, (valued(argument, argument.sql, weights),)),)


COUNT = Function(
    name="count",
    forms=(Form("count", exp.Count, ("x",)),),
    constant=None,
    numbers=False,
    computed=Computed(rows_or_values, only, "count({x}){where}", large=False),
    distinct=Computed(
        different,
        lambda of, results: f"({results[0]}).n{of.filters.index(of.where)}",
        "count(DISTINCT {x}){where}",
        large=True,
    ),
    several=True,
)
COUNT_IF = Function(
    name="count_if",
    forms=(Form("count_if", exp.CountIf, ("x > 0",)),),
    constant=None,
    numbers=False,
    computed=Computed(lambda of: (met(of),), only, "count_if({x}){where}", large=False),
    distinct=None,
    several=False,
)


def all_or_any(name: str, parsed: type[exp.Expr], result: str) -> Function:
    """`result`: of `{n}` values, of which `{met}` are true."""
    return Function(
        name=name,
        forms=(Form(name, parsed, ("x > 0",)),),
        constant=None,
        numbers=False,
        computed=Computed(
            lambda of: (counted(of), met(of)),
            lambda of, results: f"CASE WHEN {results[0]} > 0L THEN {result.format(n=results[0], met=results[1])} END",
            name + "({x}){where}",
            large=False,
        ),
        distinct=None,
        several=False,
    )


BOOL_AND = all_or_any("bool_and", exp.LogicalAnd, "{n} = {met}")
BOOL_OR = all_or_any("bool_or", exp.LogicalOr, "{met} > 0L")
