"""All aggregate functions, each once."""

from __future__ import annotations

from sqlglot import exp

from millstream.plan.functions.counts import BOOL_AND, BOOL_OR, COUNT, COUNT_IF
from millstream.plan.functions.definition import Form, Function
from millstream.plan.functions.extremes import MAX, MAX_BY, MIN, MIN_BY
from millstream.plan.functions.sums import AVG, STDDEV_POP, STDDEV_SAMP, SUM, VAR_POP, VAR_SAMP
from millstream.plan.functions.values import COLLECT_LIST, COLLECT_SET, LISTAGG, PERCENTILE


def by_name(functions: tuple[Function, ...]) -> dict[str, Function]:
    found = {function.name: function for function in functions}
    if len(found) < len(functions):
        raise ValueError("two aggregate functions have one name")
    return found


def by_form(functions: tuple[Function, ...]) -> dict[str, tuple[Function, Form]]:
    """Each name that users write. The function must be recognisable from the parsed call."""
    found: dict[str, tuple[Function, Form]] = {}
    parsed: dict[type[exp.Expr], str] = {}
    for function in functions:
        if not function.forms:
            raise ValueError(f"no way is said to write {function.name}")
        for form in function.forms:
            if form.name in found or parsed.setdefault(form.parsed, function.name) != function.name:
                raise ValueError(f"{form.example} is {function.name}, and another function, too")
            found[form.name] = function, form
    return found


ALL = (
    *(COUNT, COUNT_IF, SUM, AVG, MIN, MAX, MIN_BY, MAX_BY, BOOL_AND, BOOL_OR),
    *(STDDEV_SAMP, STDDEV_POP, VAR_SAMP, VAR_POP, PERCENTILE, LISTAGG, COLLECT_LIST, COLLECT_SET),
)
FUNCTIONS = by_name(ALL)
FORMS = by_form(ALL)
PARSED = {form.parsed: function for function in ALL for form in function.forms}


def supported() -> str:
    """For users. DISTINCT does not change min and max."""
    names: list[str] = []
    for function in ALL:
        names += [form.name for form in function.forms]
        if function.distinct not in (None, function.computed):
            names.append(f"{function.name}(DISTINCT …)")
    return f"supported: {', '.join(names)}"
