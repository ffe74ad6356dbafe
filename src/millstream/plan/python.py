"""Users' Python code as a part of the plan: a process with state, or a function that is called for every row."""

from __future__ import annotations

import hashlib
import inspect
import re
from dataclasses import dataclass, replace
from dataclasses import field as part
from functools import cached_property
from typing import Any, Literal

from sqlglot import exp
from sqlglot.errors import SqlglotError

from millstream.plan.columns import Columns, plain
from millstream.plan.connectors import FieldType, SinkOptions
from millstream.plan.dialect import DIALECT
from millstream.plan.errors import Step
from millstream.plan.expressions import Expr, NamedExpr, field
from millstream.plan.node import Key, Node, Stateful, Stateless, Unary, said
from millstream.plan.nodes import Filter, Keep, Project
from millstream.plan.schema import read_schema

Schema = tuple[FieldType, ...]
OnError = Literal["fail", "skip", "dead_letter"]
ERRORS = tuple(FieldType(name, "STRING") for name in ("step", "key", "row", "error", "line"))
"""What a dead letter says about a row on which a user's code failed."""

COLUMNS = re.compile(r"\s*`?\w+`?(\s*:|\s)\s*\w")
"""Names with types, where a type alone would do."""
STORED = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
    "STRING",
    "TEXT",
    "VARCHAR",
    "BINARY",
    "VARBINARY",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "TIMESTAMPLTZ",
    "TIMESTAMPNTZ",
    "ARRAY",
    "LIST",
    "MAP",
    "STRUCT",
]


@dataclass(frozen=True)
class Code:
    """User code, and the text that stands for it in names, unique within the job."""

    object: Any = part(repr=False)
    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class StateVar:
    """A variable that a process keeps per key: a value, a list or a map."""

    name: str
    kind: str
    type: str
    key: str | None = None
    ttl_ms: int | None = None

    @property
    def shown(self) -> str:
        inner = f"{self.key}, {self.type}" if self.key else self.type
        return f"{self.name} {self.kind.upper()}<{inner}>"


@dataclass(frozen=True)
class ProcessCode:
    code: Code
    label: str
    outputs: tuple[tuple[str, Schema], ...]
    """The main one first; its name is empty."""
    states: tuple[StateVar, ...]
    timers: bool
    clocks: bool = False
    """Whether it has timers by the clock: then epochs go by when no rows come."""
    in_flight: int = 0
    """How many keys of a task are awaited at once, if it has async methods; 0: it has none."""
    batches: bool = False
    """Whether it sees the rows of many keys at once."""


@dataclass(frozen=True, eq=False)
class Process(Stateful, Unary):
    """Rows of each key through a user's Python code. Its rows hold one output each: `_out` says which."""

    keys: tuple[NamedExpr, ...]
    run: ProcessCode
    on_error: OnError = "fail"

    @property
    def name(self) -> str:
        return self.given or f"{self.run.label.lower()}_{self.digest}"

    @cached_property
    def digest(self) -> str:
        """By its name and its input: state is found again when its code or an output changes."""
        content = repr((type(self).__name__, said(self.input), self.keys, self.run.code))
        return hashlib.sha256(content.encode()).hexdigest()[:8]

    @cached_property
    def columns(self) -> Columns:
        return plain(["_out", *(f"_o{i}" for i in range(len(self.schemas)))])

    @property
    def schemas(self) -> tuple[Schema, ...]:
        """Of the outputs, and last of the rows that failed."""
        return (*(schema for _, schema in self.run.outputs), ERRORS)

    @cached_property
    def key(self) -> Key | None:
        return None

    @cached_property
    def event_time(self) -> str | None:
        return None

    @cached_property
    def lag(self) -> int | None:
        """Rows from a timer come when the watermark has reached it."""
        return self.input.lag or 0 if self.run.timers else self.input.lag

    def reads(self, needed: set[str]) -> list[set[str]]:
        return [set(self.input.carries)]


@dataclass(frozen=True)
class Awaits:
    """How an async function is awaited: rows at once, time for each call, and retries if it fails."""

    in_flight: int
    timeout_ms: int
    retries: int
    ordered: bool = part(default=True, repr=False)
    """Whether results come in the rows' order. It may change: names do not depend on it."""


@dataclass(frozen=True, eq=False)
class Call(Stateless, Unary):
    """A user's Python function for every row: gives rows, or says which to keep. Its result is a column `_called`."""

    kind: Literal["map", "flat_map", "filter"]
    code: Code
    schema: Schema
    batches: bool = False
    on_error: OnError = "fail"
    awaits: Awaits | None = None
    """None: the function is not async."""

    @cached_property
    def columns(self) -> Columns:
        return (*self.input.columns, *plain(["_called"]))

    @cached_property
    def key(self) -> Key | None:
        return self.input.key if self.kind == "filter" else None

    def reads(self, needed: set[str]) -> list[set[str]]:
        return [set(self.input.carries)]


class Chosen(Filter):
    """The rows of one output."""


class Output(Project):
    """The columns of one output."""


def named(given: object) -> str:
    name = getattr(given, "__qualname__", None)
    return str(name) if name else f"a {type(given).__name__}"


def outputs(declared: dict[str, str], label: str, step: Step) -> tuple[tuple[str, Schema], ...]:
    found = []
    for name, text in declared.items():
        which = f"output {name!r}" if name else "output"
        if not isinstance(text, str) or not text.strip():
            raise step.error(
                "MS-PROCESS-002",
                f"runs {label}, whose {which} has no columns.",
                hint='say what it yields: output = "liker STRING, liked STRING"',
            )
        found.append((name, read_schema(text, step, "MS-PROCESS-002")))
    return tuple(found)


def state(var: StateVar, step: Step) -> StateVar:
    """The variable with its types checked and written in one way."""
    if var.ttl_ms is not None and var.ttl_ms < 1:
        raise step.error("MS-PROCESS-004", f"keeps {var.name} for no time at all.", hint="give ttl= a length above 0")
    key = stored(var.key, var, step) if var.key is not None else None
    if key is not None and key.startswith(("MAP", "ARRAY", "STRUCT")):
        raise step.error("MS-PROCESS-004", f"keeps {var.name} by keys of type {key}.", hint="use keys of a plain type")
    return replace(var, type=stored(var.type, var, step), key=key)


def stored(text: str, var: StateVar, step: Step) -> str:
    """A type, or columns with their types, that state can hold."""
    try:
        type_ = exp.DataType.build(f"STRUCT<{text}>" if COLUMNS.match(text) else text, dialect=DIALECT)
    except SqlglotError:
        type_ = None
    parts = list(type_.find_all(exp.DataType)) if type_ is not None else []
    wrong = next((part for part in parts if part.this.name not in STORED), None) if parts else None
    if type_ is None or wrong is not None:
        raise step.error(
            "MS-PROCESS-004",
            f"keeps {var.name} as {text!r}, which state cannot hold.",
            hint="use plain SQL types, ARRAY, MAP and STRUCT: STRING, BIGINT, STRUCT<n: BIGINT, last: TIMESTAMP>",
        )
    return type_.sql(dialect=DIALECT)


def process(
    input: Node, keys: tuple[NamedExpr, ...], run: ProcessCode, on_error: OnError, name: str | None, step: Step
) -> Process:
    if not input.append_only:
        raise step.error(
            "MS-PROCESS-006",
            "is to process a table, whose rows change, with Python code.",
            hint="process its changes: table.changes().key_by(…).process(…)",
        )
    if run.timers and input.event_time is None:
        raise step.error(
            "MS-PROCESS-005",
            f"runs {run.label}, which waits for event time, and does not know the time of its rows.",
            found="columns: " + ", ".join(column.label for column in input.columns),
            hint='say it at the source: job.stream(…, time="at", lateness="10 seconds"), and keep the column',
        )
    if run.batches and on_error != "fail":
        raise step.error(
            "MS-PROCESS-013",
            f"runs {run.label} with on_batch, of which nobody knows on which row it failed.",
            hint="leave out on_error, or use on_row",
        )
    return Process(name, step.at, input, keys, run, on_error)


def output(node: Process, number: int) -> Node:
    """The rows of one output of a process, in their own columns."""
    chosen = Chosen(None, node.at, node, Expr(f"`_out` = {number}"))
    fields = tuple(NamedExpr(part.name, Expr(f"`_o{number}`.{field(part.name)}")) for part in node.schemas[number])
    return Output(None, node.at, chosen, fields)


def call(
    input: Node,
    kind: Literal["map", "flat_map", "filter"],
    code: Code,
    schema: str | None,
    batches: bool,
    on_error: OnError,
    name: str | None,
    step: Step,
    awaits: Awaits | None = None,
) -> Call:
    if not callable(code.object):
        raise step.error(
            "MS-PROCESS-001", f"was given {named(code.object)}, which is no function.", hint=f"{kind}(lambda row: …)"
        )
    refuse_other_colour(code, kind, awaits, step)
    if kind != "filter" and not schema:
        raise step.error(
            "MS-PROCESS-002",
            f"runs {named(code.object)} and is not told which columns it gives.",
            hint=f'{kind}(…, schema="name STRING, n BIGINT")',
        )
    fields = read_schema(schema, step, "MS-PROCESS-002") if schema else ()
    if awaits is not None and not awaits.ordered and not input.append_only:
        raise step.error(
            "MS-PROCESS-012",
            "is to give the rows of a table in any order: one that is taken back might come before it was there.",
            hint="leave out ordered=False, or await before the table is made",
        )
    if not input.append_only and on_error == "dead_letter":
        raise step.error(
            "MS-PROCESS-006",
            "sends rows of a table, which may be taken back, to dead letters.",
            hint='choose on_error="fail" or "skip"',
        )
    return Call(name, step.at, input, kind, code, fields, batches, on_error, awaits)


def refuse_no_awaits(awaits: Awaits, step: Step) -> None:
    wrong = {"in_flight": awaits.in_flight < 1, "timeout": awaits.timeout_ms < 1, "retries": awaits.retries < 0}
    for option, is_wrong in wrong.items():
        if is_wrong:
            raise step.error(
                "MS-PROCESS-012",
                f"cannot await anything with this {option}.",
                hint='in_flight and timeout are above 0, retries 0 or more: map_async(…, in_flight=64, timeout="5 s")',
            )


def refuse_other_colour(code: Code, kind: str, awaits: Awaits | None, step: Step) -> None:
    """An async function where one is called, or the other way round."""
    given = inspect.iscoroutinefunction(code.object) or inspect.iscoroutinefunction(type(code.object).__call__)
    if given == (awaits is not None):
        return
    wanted = "is to be awaited, and is not async" if awaits else "is async, and would not be awaited"
    raise step.error(
        "MS-PROCESS-012",
        f"was given {named(code.object)}, which {wanted}.",
        hint="map_async(…) awaits async functions; map(…) calls others" if kind == "map" else "use map_async(…) before",
    )


class Codes:
    """The code of a job: each object has a unique text, the same whenever the job is built."""

    def __init__(self) -> None:
        self.known: dict[str, list[object]] = {}

    def code(self, object: object) -> Code:
        said = text(object)
        others = self.known.setdefault(said, [])
        number = next((i for i, other in enumerate(others) if other is object), len(others))
        if number == len(others):
            others.append(object)
        return Code(object, f"{said} #{number + 1}" if number else said)


def text(function: object) -> str:
    """Where it is defined and, as many functions are called <lambda>, what it does."""
    place = f"{getattr(function, '__module__', '')}.{named(function)}"
    code = getattr(function, "__code__", None)
    if code is None or "<lambda>" not in place:
        return place
    # Not the byte code: that differs between versions of Python, and downstream state is found by names.
    said = repr((code.co_names, [const for const in code.co_consts if isinstance(const, str | int | float | bytes)]))
    return f"{place} {hashlib.sha256(said.encode()).hexdigest()[:8]}"


def called(node: Call) -> Node:
    """The rows that a function gave, or kept."""
    good: Node = node
    if node.on_error != "fail":
        good = Chosen(None, node.at, node, Expr("`_called`.`error` IS NULL"))
    if node.kind == "filter":
        return Keep(None, node.at, good, node.input.carries)
    fields = tuple(NamedExpr(part.name, Expr(f"`_called`.`row`.{field(part.name)}")) for part in node.schema)
    return Output(None, node.at, good, fields)


def failed(node: Call) -> Node:
    """The rows on which a function failed."""
    bad = Chosen(None, node.at, node, Expr("NOT `_called`.`error` IS NULL"))
    fields = tuple(NamedExpr(part.name, Expr(f"`_called`.`error`.{field(part.name)}")) for part in ERRORS)
    return Output(None, node.at, bad, fields)


def error_policy(on_error: str | SinkOptions, step: Step) -> tuple[OnError, SinkOptions | None]:
    """What happens to rows on which a user's code fails, and where dead letters go."""
    if on_error == "fail":
        return "fail", None
    if on_error == "skip":
        return "skip", None
    if isinstance(on_error, str) or not isinstance(on_error, SinkOptions):
        raise step.error(
            "MS-PROCESS-007",
            f"was told on_error={on_error!r}.",
            hint='use "fail", "skip", or a sink for dead letters',
        )
    return "dead_letter", on_error
