"""A value on which an expression fails: the expression, its step, the user's line.

Spark marks the part that failed in the text it was given. That part is looked for in the expressions of the plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import dropwhile, takewhile

from sqlglot import exp
from sqlglot.errors import SqlglotError

from millstream.errors import MillstreamError
from millstream.plan.dialect import render
from millstream.plan.expressions import Expr, field, parsed
from millstream.plan.node import Node, walk
from millstream.plan.nodes import Project
from millstream.plan.operators import Aggregate

SAID = re.compile(r"\[([A-Z_]+)(?:\.[A-Z_]+)*\] ((?:(?!\[[A-Z_.]+\] ).)*?)\.? SQLSTATE: (?:22\w{3}|P0001)", re.DOTALL)
"""By SQL's own classes of errors: data that does not fit, and what raise_error() says."""
ADVICE = re.compile(r"\.? (?:Use|Correct|To return|If necessary|You can)\b.*", re.DOTALL)
"""How Spark's message continues: about settings that must not be changed, and functions that the hint names."""
MARKED = re.compile(r"^== SQL .*==\n(.*)\n( *)(\^+)", re.MULTILINE)
OURS = re.compile(r"`_\w+`|\b[afk]\d+\b")
"""Names that users do not know."""
FAILED = re.compile(r"(?P<error>(?:[a-z]\w*\.)+\w+Exception)(?:: (?P<said>[^\n]*))?(?P<frames>(?:\n\s+at [^\n]+)+)")
EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
TOOLS = (
    "java.",
    "scala.",
    "org.apache.spark.sql.errors.",
    "org.apache.spark.sql.catalyst.util.",
    "org.apache.spark.unsafe.",
)
"""What expressions are built from: an error in there is the expression's error."""
FORMATTERS = {"formatstring", "printf"}
HINTS = {
    "DIVIDE_BY_ZERO": "try_divide(a, b) gives NULL instead",
    "REMAINDER_BY_ZERO": "try_mod(a, b) gives NULL instead",
    "ARITHMETIC_OVERFLOW": "cast to a wider type; or try_add, try_subtract, try_multiply give NULL instead",
    "CAST_INVALID_INPUT": "try_cast(x AS type) gives NULL instead",
    "CAST_OVERFLOW": "try_cast(x AS type) gives NULL instead",
    "INVALID_ARRAY_INDEX": "get(array, index) gives NULL instead",
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT": "try_element_at(array, index) gives NULL instead",
    "CANNOT_PARSE_TIMESTAMP": "try_to_timestamp(text, format) gives NULL instead",
}
OTHER = "leave such rows out before: where(…)"


def bad_value(text: str, roots: tuple[Node, ...]) -> MillstreamError | None:
    """The error for users, if Spark's text reports a bad value. It comes again whenever the row does."""
    said = SAID.search(text)
    if said is None:
        return None
    marked = MARKED.search(text)
    part = marked.group(1)[len(marked.group(2)) :][: len(marked.group(3))] if marked else None
    node, own = found_in(part, roots) if part else (None, None)
    who = f'step "{node.name}"' if node else "a step"
    what = f"work out {own or part}" if part and (own or not OURS.search(part)) else "work out an expression"
    return MillstreamError(
        "MS-EXPR-009",
        f"{who} cannot {what} for a row.",
        at=node.at if node else None,
        found=ADVICE.sub("", said.group(2)).strip(),
        hint=HINTS.get(said.group(1), OTHER),
    )


def bad_call(trace: str, roots: tuple[Node, ...]) -> MillstreamError | None:
    """The same for errors to which Spark gives no code, and so no place in the text: the function is known by the
    class that failed or, in generated code, by what the message names."""
    failed = next((found for found in FAILED.finditer(trace) if evaluating(found["frames"])), None)
    if failed is None or "Interrupted" in failed["error"]:
        return None
    classes = words(evaluating(failed["frames"])) | (FORMATTERS if "java.util.Formatter" in failed["frames"] else set())
    made = [(node, tree, plain(called(tree))) for node, tree in calls(roots)]
    # What a message says may be data, so it counts only if no class says more.
    named = next((some for some in (classes, words(failed["said"])) if any(name in some for _, _, name in made)), set())
    found = [(node, tree) for node, tree, name in made if name in named]
    steps = dict.fromkeys(f'"{node.name}"' for node, _ in found)
    who = f"step {' or '.join(steps)}" if found else "a step"
    what = shown(*found[0]) if len(found) == 1 else f"{called(found[0][1])}(…)" if found else "an expression"
    return MillstreamError(
        "MS-EXPR-009",
        f"{who} cannot work out {what} for a row.",
        at=found[0][0].at if len(steps) == 1 else None,
        found=(failed["said"] or failed["error"]).strip(),
        hint=OTHER,
    )


def words(text: str | None) -> set[str]:
    return {plain(word) for word in re.findall(r"\w+", text or "")}


def evaluating(frames: str) -> str | None:
    """The names of the expressions of Spark that a trace begins in, below Java's own code and Spark's small tools;
    None: it begins elsewhere."""
    lines = (line.strip().removeprefix("at ").split("/")[-1] for line in frames.strip().splitlines())
    own = list(dropwhile(lambda line: line.startswith(TOOLS), lines))
    inside = takewhile(lambda line: line.startswith(EXPRESSIONS), own)
    return " ".join(line.removeprefix(EXPRESSIONS).split(".")[0].split("$")[0] for line in inside) or None


def calls(roots: tuple[Node, ...]) -> Iterator[tuple[Node, exp.Expr]]:
    for node in walk(roots):
        for expr in expressions(node):
            yield from ((node, tree) for tree in expr.tree.find_all(exp.Func))


def called(tree: exp.Expr) -> str:
    """The function's name, as Spark knows it."""
    return render(tree).split("(")[0].lower()


def plain(name: str) -> str:
    """`FormatString` and `format_string` are one."""
    return name.replace("_", "").lower()


def found_in(part: str, roots: tuple[Node, ...]) -> tuple[Node | None, str | None]:
    """The step that has such a part in an expression, and the part as it stands there."""
    try:
        wanted = parsed(part)
    except SqlglotError:
        return None, None
    for named in (True, False):
        alike = bare(wanted, named)
        for node in walk(roots):
            for tree in (piece for expr in expressions(node) for piece in expr.tree.walk()):
                if type(tree) is type(wanted) and bare(tree, named) == alike:
                    return node, shown(node, tree)
    if isinstance(wanted, exp.Cast) and not isinstance(wanted.this, exp.Column):
        # What a sink or a key makes of the user's own expression.
        return found_in(render(wanted.this), roots)
    return made_in(wanted, roots)


def made_in(wanted: exp.Expr, roots: tuple[Node, ...]) -> tuple[Node | None, str | None]:
    """The step that makes a column: Spark may mark only where it is read."""
    column = wanted.find(exp.Column)
    name = None if column is None else column.name
    for node in walk(roots):
        for part in node.exprs if isinstance(node, Project) else ():
            if part.name == name and not isinstance(part.expr.tree, exp.Column):
                return node, part.expr.shown
    return None, None


def shown(node: Node, tree: exp.Expr) -> str:
    """As the user wrote it: with figures in the place of their names."""
    expr = Expr(render(tree))
    if isinstance(node, Aggregate):
        places = {f"k{i}": part.expr.sql for i, part in enumerate(node.keys)}
        places |= {f"f{i}": part.called for i, part in enumerate(node.figures)}
        expr = Expr(expr.over(lambda name: places.get(name, field(name))))
    return expr.shown


def bare(tree: exp.Expr, named: bool) -> exp.Expr:
    """Without the places that columns stand in, or without their names: figures have other ones where they are kept."""

    def change(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Paren):
            return bare(node.this, named)
        if isinstance(node, exp.Column | exp.Dot):
            return exp.column(node.name.lower() if named else "x")
        return node

    return tree.copy().transform(change)


def expressions(part: object) -> Iterator[Expr]:
    """All expressions of a node, but not of those below it."""
    if isinstance(part, Expr):
        yield part
    elif isinstance(part, tuple):
        for item in part:
            yield from expressions(item)
    elif is_dataclass(part):
        values = [getattr(part, each.name) for each in fields(part)]
        for value in values:
            if not isinstance(value, Node | tuple) or (isinstance(value, tuple) and not below(value)):
                yield from expressions(value)
        if hasattr(part, "sql"):
            yield Expr(part.sql)


def below(value: tuple[object, ...]) -> bool:
    return any(isinstance(item, Node) for item in value)
