"""Takes aggregate expressions apart: running figures that kernels keep, and plain SQL over their results."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sqlglot import exp

from millstream.errors import did_you_mean
from millstream.plan.dialect import render
from millstream.plan.errors import Step
from millstream.plan.expressions import Expr, NamedExpr, parse
from millstream.plan.functions.counts import COUNT
from millstream.plan.functions.definition import Computed, Function
from millstream.plan.functions.registry import FORMS, FUNCTIONS, PARSED, supported

UNORDERED = (exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.AnyValue)
"""They take the first row that comes, which differs from run to run."""


START, END = "window_start", "window_end"
"""The columns of a window, which are the first keys of its groups."""


@dataclass(frozen=True)
class Figure:
    """One running figure of a group: a function of an argument (None counts rows).

    `by`: the order of min_by and max_by, the share of a percentile, or the separator of listagg. `where`: the condition
    of FILTER (WHERE …).
    """

    function: str
    argument: Expr | None
    by: Expr | None = None
    where: Expr | None = None
    distinct: bool = False

    def __post_init__(self) -> None:
        assert self.function in FUNCTIONS, f"no aggregate function {self.function}"

    @property
    def computed(self) -> Computed:
        return FUNCTIONS[self.function].of(self.distinct)

    @property
    def fields(self) -> frozenset[str]:
        parts = (self.argument, self.by, self.where)
        return frozenset().union(*(part.fields for part in parts if part is not None))

    @property
    def called(self) -> str:
        """The call, without its filter."""
        arguments = ", ".join(each.sql for each in (self.argument, self.by) if each is not None) or "*"
        return f"{self.function}({'DISTINCT ' if self.distinct else ''}{arguments})"


@dataclass(frozen=True)
class Result:
    """A result column: SQL over `_f0`, `_f1`, … (the figures) and the group's keys."""

    name: str
    sql: str


def call(node: exp.Expr, step: Step) -> Figure:
    """One aggregate call, or an error that says what cannot be kept up to date."""
    function = PARSED.get(type(node))
    if function is None:
        raise unsupported(node, step)
    arguments = [part for part in (node.this, node.args.get("expression"), *node.expressions) if part is not None]
    where = node.parent.expression.this if isinstance(node.parent, exp.Filter) else None
    if any(part.find(exp.AggFunc) is not None for part in (*arguments, *([where] if where else []))):
        raise step.error("MS-AGG-003", f"has an aggregate inside an aggregate: {shown(node)}.")
    condition = Expr(render(where)) if where is not None else None
    if function is COUNT and isinstance(node.this, exp.Star | exp.Literal):
        return Figure(function.name, None, None, condition)
    distinct = isinstance(node.this, exp.Distinct)
    arguments[:1] = node.this.expressions if distinct else arguments[:1]
    refuse_kind(function, arguments, distinct, node, step)
    values = [Expr(render(part)) for part in arguments]
    if function.several and len(values) > 1:
        values = [whole(values)]
    by = values[1] if len(values) > 1 else constant(function, node, step)
    return Figure(function.name, values[0], by, condition, distinct and function.distinct is not function.computed)


def refuse_kind(function: Function, arguments: list[exp.Expr], distinct: bool, node: exp.Expr, step: Step) -> None:
    if distinct and function.distinct is None:
        hint = "take distinct() first, or group twice"
    elif any(isinstance(part, exp.Star) for part in arguments):
        hint = "name a column"
    else:
        return
    raise step.error("MS-AGG-002", f"uses {shown(node)}, which is not supported.", hint=hint)


def whole(values: list[Expr]) -> Expr:
    """`count(DISTINCT a, b)` counts the pairs without a NULL."""
    known = " AND ".join(f"NOT ({value.sql}) IS NULL" for value in values)
    return Expr(f"CASE WHEN {known} THEN STRUCT({', '.join(value.sql for value in values)}) END")


def constant(function: Function, node: exp.Expr, step: Step) -> Expr | None:
    """The share of a percentile, or the separator of listagg, as written in the call."""
    wanted = function.constant
    if wanted is None:
        return None
    found = node.args.get(wanted.parsed)
    if found is None and wanted.default is not None:
        return Expr(wanted.default)
    if not isinstance(found, exp.Literal) or not wanted.fits(found):
        example = function.forms[0].example
        raise step.error("MS-AGG-002", f"uses {shown(node)}, without {wanted.what}.", hint=f"for example {example}")
    return Expr(render(found))


def refuse_count(sql: str, step: Step) -> None:
    """More or fewer arguments than a function takes. The parser drops some, but none of a function that it does not
    know: so they are counted under another name."""
    unknown = re.sub(rf"\b({'|'.join(FORMS)})\s*\(", r"_\1(", sql, flags=re.IGNORECASE)
    for node in parse(unknown, step).find_all(exp.Anonymous):
        name = node.name.removeprefix("_").lower()
        if name == node.name.lower() or name not in FORMS:
            continue
        function, form = FORMS[name]
        distinct = isinstance(next(iter(node.expressions), None), exp.Distinct)
        given = node.expressions[0].expressions if distinct else node.expressions
        if len(given) == len(form.arguments) or (distinct and function.several and given):
            continue
        said = f"{name.upper()}({'DISTINCT ' if distinct else ''}{', '.join(shown(part) for part in given)})"
        raise step.error(
            "MS-AGG-002", f"gives {name} {len(given)} arguments: {said}.", hint=f"for example {form.example}"
        )


def refuse_order(tree: exp.Expr, step: Step) -> None:
    """Of the tree as users wrote it: Spark's text of it leaves the order out, and has a comma where there was none."""
    for node in tree.find_all(exp.GroupConcat):
        if node.args.get("separator") is None:
            raise step.error(
                "MS-AGG-002", "uses listagg without text between the values.", hint="for example listagg(x, ', ')"
            )
    found = next((node for node in tree.find_all(exp.AggFunc) if node.find(exp.Order) is not None), None)
    if found is not None:
        raise step.error(
            "MS-AGG-002",
            f"uses ORDER BY inside {shown(found)}.",
            hint="collected values are always sorted: collect struct(at, x) to have them in another order",
        )


def unsupported(node: exp.Expr, step: Step) -> Exception:
    hint = "say by what: min_by(x, at) is the first by time, max_by(x, at) the last"
    return step.error(
        "MS-AGG-002",
        f"uses {shown(node)}, which is not supported.",
        found=supported(),
        hint=hint if isinstance(node, UNORDERED) else None,
    )


def shown(tree: exp.Expr) -> str:
    return Expr(render(tree)).shown


def outside(tree: exp.Expr) -> list[exp.Column]:
    """The columns outside of all aggregate calls."""
    return [column for column in tree.find_all(exp.Column) if column.find_ancestor(exp.AggFunc, exp.Filter) is None]


@dataclass(frozen=True)
class Closing:
    """When groups end: the key that says so, and how much longer results are corrected.

    `final`: results are sent once, then. `length_ms`: how long after a row's time its windows end at the latest.
    `touching`: a row at the very end still belongs to it.
    """

    end: str
    allowed_ms: int
    final: bool = False
    length_ms: int = field(default=0, repr=False)
    touching: bool = field(default=False, repr=False)

    @property
    def after_ms(self) -> int:
        """How long after the end rows of the group may still come."""
        return self.allowed_ms + self.touching


def split(
    aggregates: dict[str, Expr], keys: tuple[NamedExpr, ...], step: Step
) -> tuple[tuple[Figure, ...], tuple[Result, ...]]:
    """Bound aggregate expressions as figures and results; equal figures are kept once."""
    figures: list[Figure] = []
    results = []
    for name, expr in aggregates.items():
        tree = exp.Paren(this=expr.tree.copy())
        refuse_ungrouped(tree, keys, step)
        for node in list(tree.find_all(exp.AggFunc)):
            figure = call(node, step)
            if figure not in figures:
                figures.append(figure)
            whole = node.parent if isinstance(node.parent, exp.Filter) else node
            whole.replace(exp.column(f"f{figures.index(figure)}"))
        for column in outside(tree):
            place = next((i for i, key in enumerate(keys) if key.expr.tree == column), None)
            if place is not None:
                column.replace(exp.column(f"k{place}"))
        results.append(Result(name, render(tree.this)))
    return tuple(figures), tuple(results)


def misspelt(column: exp.Expr) -> str | None:
    """A hint, if the function around it has almost the name of an aggregate."""
    called = column.find_ancestor(exp.Anonymous)
    return None if called is None else did_you_mean(called.name.lower(), FORMS)


def refuse_ungrouped(tree: exp.Expr, keys: tuple[NamedExpr, ...], step: Step) -> None:
    grouped = [key.expr.tree for key in keys]
    for column in outside(tree):
        if column not in grouped:
            raise step.error(
                "MS-AGG-001",
                f"uses {column.name} outside an aggregate, and does not group by it.",
                found="grouped by: " + (", ".join(key.name for key in keys) or "nothing"),
                hint=misspelt(column) or f"add {column.name} to group_by(), or use min({column.name})",
            )
    if tree.find(exp.AggFunc) is None:
        raise step.error("MS-AGG-004", f"has no aggregate in {shown(tree.this)}.", hint="for example count(*)")
