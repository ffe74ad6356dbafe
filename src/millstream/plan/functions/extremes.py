"""The least and the greatest."""

from __future__ import annotations

from sqlglot import exp

from millstream.plan.functions.definition import Accumulator, Argument, Computed, Form, Function, only


def extreme(end: str, argument: Argument, value: str) -> tuple[Accumulator, ...]:
    return (Accumulator(end if argument.append_only else f"{end}_retractable", (value,)),)


def carried(argument: Argument) -> str:
    """A pair that is compared by the figure's order, then by the value, which settles ties."""
    condition = f"{argument.by} IS NOT NULL" + (f" AND ({argument.where})" if argument.where else "")
    pair = f"struct({argument.by_key(argument.by)} AS by, {argument.key(argument.sql)} AS value)"
    return f"CASE WHEN {condition} THEN {pair} END"


def end_of_values(end: str, parsed: type[exp.Expr]) -> Function:
    """Distinct values give the same result."""
    computed = Computed(
        lambda of: extreme(end, of, of.key(of.value)),
        only,
        end + "({x}){where}",
        large=False,
    )
    return Function(
        name=end,
        forms=(Form(end, parsed, ("x",)),),
        constant=None,
        numbers=False,
        computed=computed,
        distinct=computed,
        several=False,
    )


def end_by(end: str, parsed: type[exp.Expr]) -> Function:
    pair = "CASE WHEN ({by}) IS NOT NULL THEN struct({by} AS by, {x} AS value) END"
    return Function(
        name=f"{end}_by",
        forms=(Form(f"{end}_by", parsed, ("x", "at")),),
        constant=None,
        numbers=False,
        computed=Computed(
            lambda of: extreme(end, of, carried(of)),
            lambda of, results: f"({results[0]}).value",
            f"({end}({pair}){{where}}).value",
            large=False,
        ),
        distinct=None,
        several=False,
    )


MIN, MAX = end_of_values("min", exp.Min), end_of_values("max", exp.Max)
MIN_BY, MAX_BY = end_by("min", exp.ArgMin), end_by("max", exp.ArgMax)
