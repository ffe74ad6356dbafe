"""Finds steps whose result differs each time, or depends on what came first: they cannot be compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import CodeType

from millstream.errors import MillstreamError
from millstream.plan.changing import changing
from millstream.plan.expressions import Expr
from millstream.plan.node import Node, Stateful, walk
from millstream.plan.nodes import Changes, Sink
from millstream.plan.operators import Aggregate, LateRows
from millstream.plan.python import Call, Code, Process
from millstream.plan.two_sides import Enrich, Join

PYTHON = {"random", "randint", "choice", "shuffle", "uuid1", "uuid4", "urandom", "secrets", "token_hex"}
PYTHON |= {"time", "time_ns", "monotonic", "now", "utcnow", "today"}
"""Python names whose results differ each time."""


def moving_steps(sinks: tuple[Sink, ...]) -> Iterator[tuple[Node, str]]:
    """Each with what makes it so."""
    for node in walk(sinks):
        for expr in expressions(tuple(getattr(node, part.name) for part in fields(node))):
            found = changing(expr.tree)
            if found is not None:
                yield node, found
        for code in codes(node):
            moving = sorted(names(code) & PYTHON)
            if moving:
                yield node, f"{moving[0]} in its Python code"
        if isinstance(node, Process) and node.run.clocks:
            yield node, "timers by the clock"


def expressions(value: object) -> Iterator[Expr]:
    """Those of a step's own settings, however deep; not those of its inputs."""
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from expressions(part)
    elif is_dataclass(value) and not isinstance(value, Node):
        yield from expressions(tuple(getattr(value, part.name) for part in fields(value)))


def codes(node: Node) -> Iterator[CodeType]:
    held = node.code if isinstance(node, Call) else node.run.code if isinstance(node, Process) else None
    if not isinstance(held, Code):
        return
    given = held.object
    functions = [given, *vars(given).values()] if isinstance(given, type) else [given]
    for function in functions:
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            yield code


def names(code: CodeType) -> set[str]:
    """What a function's code reads from outside, functions within it, too."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*(names(part) for part in inner))


def order_matters(sink: Sink) -> str | None:
    """Why batch SQL, which sees all rows at once, may rightly give something else for this sink."""
    for node in walk((sink,)):
        match node:
            case Enrich(as_of=None):
                return f'step "{node.name}" takes what is known when a row comes'
            case LateRows():
                return f'step "{node.name}" gives rows that come too late, and in a batch none does'
            case Join(ttl_ms=int()):
                return f'step "{node.name}" forgets rows after a time'
            case Process():
                return f'step "{node.name}" runs Python code, which may go by the order of rows'
            case Stateful() if any(waits(part) for part in walk(node.inputs)):
                return f'step "{node.name}" reads rows of which some still wait for time to go on'
            case Changes() if node is not sink.input:
                return f'step "{node.name}" gives each change, and a batch has only the last state'
    return None


def waiting(sink: Sink) -> Node | None:
    """A step whose last rows come when time goes on, and which in a batch come at once."""
    return next((node for node in walk((sink,)) if waits(node)), None)


def waits(node: Node) -> bool:
    if isinstance(node, Aggregate):
        return node.closing is not None and node.closing.final
    return isinstance(node, Join) and node.within is not None and any(node.alone)


def refuse_moving(sinks: tuple[Sink, ...]) -> None:
    found = list(moving_steps(sinks))
    if not found:
        return
    node, what = found[0]
    others = ", ".join(f'"{other.name}" ({function})' for other, function in found[1:])
    raise MillstreamError(
        "MS-VERIFY-003",
        f'step "{node.name}" uses {what}, whose result is another one each time: runs cannot be compared.',
        at=node.at,
        found=f"so do: {others}" if others else None,
        hint="take the time from a column of the rows, and random numbers from a hash of them",
    )
