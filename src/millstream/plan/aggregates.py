"""Takes aggregate expressions apart: running figures that kernels keep, and plain SQL over their results."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.plan.errors import Step
from millstream.plan.expressions import Expr, parse, render

FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.CountIf: "count_if",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.ArgMin: "min_by",
    exp.ArgMax: "max_by",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.ArrayAgg: "collect_list",
    exp.ArrayUniqueAgg: "collect_set",
    exp.Median: "percentile",
    exp.Quantile: "percentile",
    exp.GroupConcat: "listagg",
}
SUPPORTED = (
    "supported: count, count(DISTINCT …), count_if, sum, avg, min, max, min_by, max_by, bool_and, bool_or, "
    "stddev, stddev_pop, variance, var_pop, median, percentile, sum(DISTINCT …), avg(DISTINCT …), listagg, "
    "collect_list, collect_set"
)
DISTINCT = ("count", "sum", "avg", "listagg")
"""Those that are something else of distinct values; min and max are not."""
TAKEN = {
    "array_agg": (1, "array_agg(x)"),
    "collect_list": (1, "collect_list(x)"),
    "count_if": (1, "count_if(x > 0)"),
    "listagg": (2, "listagg(x, ', ')"),
    "max_by": (2, "max_by(x, at)"),
    "min_by": (2, "min_by(x, at)"),
    "percentile": (2, "percentile(x, 0.9)"),
    "string_agg": (2, "string_agg(x, ', ')"),
}
"""How many arguments are taken by those of which the parser silently leaves more out; and an example."""
UNORDERED = (exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.AnyValue)
"""They take the first row that comes, and that is another one in every run."""


START, END = "window_start", "window_end"
"""The columns of a window, which are the first keys of its groups."""


@dataclass(frozen=True)
class Figure:
    """One running figure of a group: a function of an argument (None counts rows).

    `by`: what min_by and max_by go by, the share of a percentile, what stands between the values of listagg.
    `where`: the condition of FILTER (WHERE …).
    """

    function: str
    argument: Expr | None
    by: Expr | None = None
    where: Expr | None = None

    @property
    def fields(self) -> frozenset[str]:
        parts = (self.argument, self.by, self.where)
        return frozenset().union(*(part.fields for part in parts if part is not None))

    @property
    def called(self) -> str:
        """The call, without its filter."""
        name = self.function.removesuffix("_distinct")
        arguments = ", ".join(each.sql for each in (self.argument, self.by) if each is not None) or "*"
        return f"{name}({'DISTINCT ' if name != self.function else ''}{arguments})"


@dataclass(frozen=True)
class Result:
    """A result column: SQL over `_f0`, `_f1`, … (the figures) and the group's keys."""

    name: str
    sql: str


def call(node: exp.Expr, step: Step) -> Figure:
    """One aggregate call, or an error that says what cannot be kept up to date."""
    function = FUNCTIONS.get(type(node))
    if function is None:
        raise unsupported(node, step)
    arguments = [part for part in (node.this, node.args.get("expression"), *node.expressions) if part is not None]
    where = node.parent.expression.this if isinstance(node.parent, exp.Filter) else None
    if any(part.find(exp.AggFunc) is not None for part in (*arguments, *([where] if where else []))):
        raise step.error("MS-AGG-003", f"has an aggregate inside an aggregate: {shown(node)}.")
    condition = Expr(render(where)) if where is not None else None
    constant = said(node, step)
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        return replace(distinct(function, arguments[0].expressions, condition, node, step), by=constant)
    if len(arguments) != (2 if function in ("min_by", "max_by") else 1):
        raise step.error("MS-AGG-002", f"gives {function} {len(arguments)} arguments: {shown(node)}.")
    argument = arguments[0]
    if isinstance(argument, exp.Star) or (function == "count" and isinstance(argument, exp.Literal)):
        return Figure(function, None, None, condition)
    by = Expr(render(arguments[1])) if len(arguments) > 1 else constant
    return Figure(function, Expr(render(argument)), by, condition)


def distinct(function: str, arguments: list[exp.Expr], where: Expr | None, node: exp.Expr, step: Step) -> Figure:
    """`count(DISTINCT a, b)` counts the pairs without a NULL."""
    texts = [render(part) for part in arguments]
    if function in ("min", "max") and len(texts) == 1:
        return Figure(function, Expr(texts[0]), None, where)
    if function not in DISTINCT or (function != "count" and len(texts) > 1):
        raise step.error(
            "MS-AGG-002", f"uses {shown(node)}, which is not supported.", hint="take distinct() first, or group twice"
        )
    if len(texts) == 1:
        return Figure(f"{function}_distinct", Expr(texts[0]), None, where)
    known = " AND ".join(f"NOT {text} IS NULL" for text in texts)
    return Figure("count_distinct", Expr(f"CASE WHEN {known} THEN STRUCT({', '.join(texts)}) END"), None, where)


def said(node: exp.Expr, step: Step) -> Expr | None:
    """The share of a percentile, or what listagg puts between values: a constant that stands in the call."""
    if isinstance(node, exp.Median):
        return Expr("0.5")
    if not isinstance(node, exp.Quantile | exp.GroupConcat):
        return None
    number = isinstance(node, exp.Quantile)
    found = node.args["quantile" if number else "separator"]
    fits = isinstance(found, exp.Literal) and found.is_string != number
    if not fits or (number and not 0 <= float(found.name) <= 1):
        what = "a number between 0 and 1" if number else "text between the values"
        example = "percentile(x, 0.9)" if number else "listagg(x, ', ')"
        raise step.error("MS-AGG-002", f"uses {shown(node)}, without {what}.", hint=f"for example {example}")
    return Expr(render(found))


def refuse_more(sql: str, step: Step) -> None:
    """The frequency of a percentile, and the like. The parser leaves such arguments out, but not those of a function
    that it does not know: so they are counted under another name."""
    unknown = re.sub(rf"\b({'|'.join(TAKEN)})\s*\(", r"_\1(", sql, flags=re.IGNORECASE)
    for node in parse(unknown, step).find_all(exp.Anonymous):
        name = node.name.removeprefix("_").lower()
        most, example = TAKEN.get(name, (len(node.expressions), ""))
        if len(node.expressions) > most:
            said = f"{name.upper()}({', '.join(shown(part) for part in node.expressions)})"
            raise step.error(
                "MS-AGG-002", f"gives {name} {len(node.expressions)} arguments: {said}.", hint=f"for example {example}"
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
        found=SUPPORTED,
        hint=hint if isinstance(node, UNORDERED) else None,
    )


def shown(tree: exp.Expr) -> str:
    return Expr(render(tree)).shown


def outside(tree: exp.Expr) -> list[exp.Column]:
    """The columns that stand outside every aggregate call."""
    return [column for column in tree.find_all(exp.Column) if column.find_ancestor(exp.AggFunc, exp.Filter) is None]


@dataclass(frozen=True)
class Closing:
    """When groups come to an end: the key that says it, and how much longer results are corrected.

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
        """So long after the end no row of the group can come any more."""
        return self.allowed_ms + self.touching


@dataclass(frozen=True)
class Keyed:
    """A grouping column: its name in the result and its expression over the input."""

    name: str
    expr: Expr


def split(
    aggregates: dict[str, Expr], keys: tuple[Keyed, ...], step: Step
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


def refuse_ungrouped(tree: exp.Expr, keys: tuple[Keyed, ...], step: Step) -> None:
    grouped = [key.expr.tree for key in keys]
    for column in outside(tree):
        if column not in grouped:
            raise step.error(
                "MS-AGG-001",
                f"uses {column.name} outside an aggregate, and does not group by it.",
                found="grouped by: " + (", ".join(key.name for key in keys) or "nothing"),
                hint=f"add {column.name} to group_by(), or use min({column.name})",
            )
    if tree.find(exp.AggFunc) is None:
        raise step.error("MS-AGG-004", f"has no aggregate in {shown(tree.this)}.", hint="for example count(*)")
