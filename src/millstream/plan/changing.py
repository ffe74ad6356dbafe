"""Functions that change: their result differs with each call, or in each epoch.

A row of a table is computed again when it is taken back. With such a function it would not be the row that was sent.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from millstream.plan.dialect import render
from millstream.plan.errors import Step
from millstream.plan.expressions import Expr
from millstream.plan.node import Node

CHANCE = frozenset(("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle"))
PLACE = frozenset(("monotonically_increasing_id", "spark_partition_id"))
FILE = frozenset(("input_file_name", "input_file_block_start", "input_file_block_length"))
"""These depend on the task that computes a row, and on what it computed before."""
FOREIGN = frozenset(("reflect", "java_method", "try_reflect"))
"""Any Java code."""
TIME = frozenset(("now", "current_timestamp", "localtimestamp", "current_date", "curdate", "current_time", "localtime"))
CHANGING = CHANCE | PLACE | FILE | FOREIGN | TIME
MOMENTS = ("now", "today", "tomorrow", "yesterday")
"""What Spark takes for a moment where a text becomes a time: `timestamp'now'`."""
OWN_IV = 5
"""With this many arguments, aes_encrypt gets its IV; otherwise the IV is random, except in mode ECB."""

AGAIN = "a row that is taken back is computed again, and would not be the row that was sent"
ONCE = "use it on a stream, whose rows are computed once: before it becomes a table, or after changes()"


def changing(tree: exp.Expr) -> str | None:
    """A part whose result differs with each call, or in each epoch, as users write it."""
    found = next((node for node in tree.find_all(exp.Func) if changes(node)), None)
    if found is None:
        return None
    return render(found) if is_moment(found) else f"{called(found)}()"


def called(node: exp.Func) -> str:
    return str(node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()


def changes(node: exp.Func) -> bool:
    name = called(node)
    if name == "aes_encrypt":
        return len(node.expressions) < OWN_IV and not any(part.name.upper() == "ECB" for part in node.expressions[2:3])
    return name in CHANGING or is_moment(node)


def is_moment(node: exp.Func) -> bool:
    """A time that is written as a word."""
    if isinstance(node, exp.Cast) and not node.to.is_type(*exp.DataType.TEMPORAL_TYPES):
        return False
    text = node.this
    words = text.name.lower().split() if isinstance(text, exp.Literal) and text.is_string else []
    return isinstance(node, exp.Cast | exp.TsOrDsToDate) and words[:1] != [] and words[0] in MOMENTS


def steady(expr: Expr) -> bool:
    """Whether it gives the same result for a row whenever it is computed."""
    return changing(expr.tree) is None


def repeatable(expr: Expr) -> bool:
    """Whether it gives the same result for a row twice in one epoch."""
    return expr.calls.isdisjoint(CHANCE | PLACE | FILE | FOREIGN)


def refuse_changing(exprs: Iterable[Expr | None], over: Node, step: Step) -> None:
    """Over a table. A stream's rows are computed once, and never taken back."""
    if not over.append_only:
        refuse(exprs, "over a table", step)


def refuse(exprs: Iterable[Expr | None], where: str, step: Step, found: str = AGAIN, hint: str = ONCE) -> None:
    part = next((part for part in (changing(expr.tree) for expr in exprs if expr is not None) if part), None)
    if part is not None:
        message = f"uses {part}, which gives something else each time, {where}."
        raise step.error("MS-EXPR-010", message, found=found, hint=hint)
